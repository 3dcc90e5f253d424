import { describe, expect, it } from "vitest";
import { visitsOf } from "./rates.ts";
import { listScenarios, scenarioFile } from "./catalogue.ts";
import type { Point, Scenario } from "./model.ts";
import { loadScenario } from "./read-scenario.ts";

function load(name: string, quick = false): Scenario {
  return loadScenario(scenarioFile(name)!, { quick });
}

/**
 * Source: GoogleCloudPlatform/microservices-demo, task weights of src/loadgenerator/locustfile.py and calls
 * of src/frontend. Catalog of nine products, five recommendations, two products in a cart.
 */
const BOUTIQUE: readonly (readonly [
  request: string,
  count: number,
  calls: Readonly<Record<string, number>>,
])[] = [
  ["index", 1, { currencyservice: 1 + 9, productcatalogservice: 1, cartservice: 1, adservice: 1 }],
  ["set currency", 2, {}],
  [
    "product, by tasks browse, add to cart and checkout",
    10 + 2 + 1,
    {
      productcatalogservice: 1 + 5,
      currencyservice: 2,
      cartservice: 1,
      recommendationservice: 1,
      adservice: 1,
    },
  ],
  ["add to cart, by tasks add to cart and checkout", 2 + 1, { productcatalogservice: 1, cartservice: 1 }],
  [
    "view cart",
    3,
    {
      currencyservice: 1 + 1 + 2,
      cartservice: 1,
      recommendationservice: 1,
      productcatalogservice: 5 + 2,
      shippingservice: 1,
    },
  ],
  [
    "checkout",
    1,
    { checkoutservice: 1, recommendationservice: 1, productcatalogservice: 5, currencyservice: 1 },
  ],
];

describe("the project's scenarios", () => {
  it.each(
    listScenarios()
      .filter(({ kind }) => kind === "workflows")
      .map(({ name, hasQuick }) => [name, hasQuick] as const),
  )("%s can be run as it is written", (name, hasQuick) => {
    const scenario = load(name);
    expect(scenario.points.length).toBeGreaterThan(1);
    expect(scenario.threats.length).toBeGreaterThan(0);
    expect(scenario.contenders).toContain(scenario.baseline);
    const quick = hasQuick ? load(name, true) : scenario;
    expect(quick.points.length * quick.trials).toBeLessThanOrEqual(scenario.points.length * scenario.trials);
  });

  it("figure-3 makes the 32 internal calls a request that 600 users turn into 19,200 a second", () => {
    const point = load("figure-3").points.find(({ labels }) => labels["users"] === 600)!;
    const visits = [...visitsOf(point).values()];
    expect(visits).toHaveLength(17);
    expect(visits.reduce((sum, each) => sum + each, 0) - 1).toBe(32);
    expect(load("figure-3").references.map(({ change }) => change)).toStrictEqual([-0.39, -0.56, -0.66]);
  });

  it("figure-3-grid has figure-3's own assumptions among its points", () => {
    const own = load("figure-3").points.find(({ id }) => id === "rttMs=100,users=100")!;
    const same = load("figure-3-grid").points.find(
      ({ id }) => id === "graph=sample,requests=sample,cpu=1,bytes=1,databases=anywhere,users=100",
    )!;
    const edges = ({ workflow }: typeof own): unknown =>
      workflow.workloads.map(({ name, cpuMs, calls }) => ({ name, cpuMs, calls }));
    expect(edges(same)).toStrictEqual(edges(own));
    expect(same.cluster).toStrictEqual(own.cluster);
  });

  it("null has figure-3's cluster and workflow", () => {
    const at = (name: string): Point => load(name).points.find(({ id }) => id === "rttMs=100,users=100")!;
    expect(at("null").cluster).toStrictEqual(at("figure-3").cluster);
    expect(at("null").workflow.workloads).toStrictEqual(at("figure-3").workflow.workloads);
  });

  it("online-boutique's frontend makes the calls of its handlers, weighted by the load generator's tasks", () => {
    const { workloads } = load("online-boutique").points[0]!.workflow;
    const means = new Map<string, number>();
    for (const { callee, probability } of workloads.find(({ name }) => name === "frontend")!.calls)
      means.set(callee, (means.get(callee) ?? 0) + probability);
    const requests = BOUTIQUE.reduce((sum, [, count]) => sum + count, 0);
    expect(requests).toBe(23);
    for (const callee of new Set(BOUTIQUE.flatMap(([, , calls]) => Object.keys(calls)))) {
      const made = BOUTIQUE.reduce((sum, [, count, calls]) => sum + count * (calls[callee] ?? 0), 0);
      expect([callee, means.get(callee)]).toEqual([callee, expect.closeTo(made / requests, 2)]);
    }
  });

  it("are found by name or path, and by nothing else", () => {
    expect(scenarioFile("mine.yaml")).toBe("mine.yaml");
    expect(scenarioFile("../package")).toBeNull();
    expect(scenarioFile("figure-33")).toBeNull();
  });
});
