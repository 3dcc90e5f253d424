import { describe, expect, it } from "vitest";

import { faultText } from "./order-fault.ts";
import { SORT_ALGORITHMS } from "./sort-algorithms.ts";
import { workloadOrder } from "./workload-order.ts";
import type { WorkloadOrder } from "./workload-order.ts";

interface Info {
  readonly selector?: string;
  readonly name?: string;
}

const info = ({ selector, name = `${selector}-deployment` }: Info): Record<string, unknown> => ({
  kind: "Deployment",
  name,
  ...(selector === undefined ? {} : { selector }),
  apiVersion: "apps/v1",
  namespace: "default",
});

function spec(workloads: readonly (Info & { on?: readonly Info[] })[], algorithm = "KahnSort"): unknown {
  return {
    numMembers: workloads.length,
    topologySortingAlgorithm: algorithm,
    workloads: workloads.map(({ on, ...workload }) => ({
      workload: info(workload),
      ...(on === undefined
        ? {}
        : { dependencies: on.map((dependency) => ({ workload: info(dependency), maxNetworkCost: 15 })) }),
    })),
  };
}

const A1 = [
  { selector: "P1", on: [{ selector: "P2" }] },
  { selector: "P2", on: [{ selector: "P3" }] },
  { selector: "P3" },
];

const indices = ({ order }: WorkloadOrder): Record<string, number> =>
  Object.fromEntries(order.map(({ workload, index }) => [workload.selector, index]));
const reported = ({ faults }: WorkloadOrder): string[] =>
  faults.map((fault) => `${fault.code}: ${faultText(fault)}`);

describe("workload order", () => {
  it.each([
    ["KahnSort", { P1: 1, P2: 2, P3: 3 }],
    ["TarjanSort", { P1: 1, P2: 2, P3: 3 }],
    ["ReverseKahn", { P1: 3, P2: 2, P3: 1 }],
    ["ReverseTarjan", { P1: 3, P2: 2, P3: 1 }],
    ["AlternateKahn", { P1: 1, P2: 3, P3: 2 }],
    ["AlternateTarjan", { P1: 1, P2: 3, P3: 2 }],
  ])("orders A1 by %s although names differ from selectors", (algorithm, expected) => {
    const result = workloadOrder(spec(A1, algorithm));
    expect(indices(result)).toEqual(expected);
    expect(result).toMatchObject({ algorithm, isSpecOrder: false, faults: [] });
  });

  it("lists workloads by selector, each with the fields of the spec", () => {
    const { order } = workloadOrder(spec([...A1].reverse(), "ReverseKahn"));
    expect(order.map(({ workload }) => workload.selector)).toEqual(["P1", "P2", "P3"]);
    expect(order[0]).toEqual({
      workload: {
        kind: "Deployment",
        name: "P1-deployment",
        selector: "P1",
        apiVersion: "apps/v1",
        namespace: "default",
      },
      index: 3,
    });
  });

  it("takes another algorithm than the spec's when told so", () => {
    const result = workloadOrder(spec(A1, "nonsense"), "ReverseTarjan");
    expect(indices(result)).toEqual({ P1: 3, P2: 2, P3: 1 });
    expect(result.faults).toEqual([]);
  });

  it("reads 004's older form, where a workload has a name only", () => {
    const older = spec([
      { name: "P1", on: [{ name: "P2" }] },
      { name: "P2", on: [{ name: "P3" }] },
      { name: "P3" },
    ]);
    expect(indices(workloadOrder(older))).toEqual({ P1: 1, P2: 2, P3: 3 });
  });

  it("gives a workload without any dependency an index", () => {
    const result = workloadOrder(spec([...A1, { selector: "Alone" }]));
    expect(indices(result)).toEqual({ Alone: 1, P1: 2, P2: 3, P3: 4 });
  });

  it("falls back to KahnSort for an unknown algorithm and says so", () => {
    const result = workloadOrder(spec(A1, "BogoSort"));
    expect(indices(result)).toEqual({ P1: 1, P2: 2, P3: 3 });
    expect(reported(result)).toEqual([
      `UnknownAlgorithm: spec.topologySortingAlgorithm must be one of ${SORT_ALGORITHMS.join(", ")} (KahnSort is used), got "BogoSort"`,
    ]);
  });

  it("puts workloads of a cycle into the order of the spec and names the cycle", () => {
    const result = workloadOrder(
      spec([
        { selector: "c", on: [{ selector: "a" }] },
        { selector: "a", on: [{ selector: "b" }] },
        { selector: "b", on: [{ selector: "c" }] },
      ]),
    );
    expect(indices(result)).toEqual({ c: 1, a: 2, b: 3 });
    expect(result.isSpecOrder).toBe(true);
    expect(reported(result)).toEqual([
      'DependencyCycle: spec.workloads[1] must not depend on itself (all workloads stand in the order of the spec), got "a -> b -> c -> a"',
    ]);
  });

  it("names the ends of a long cycle only", () => {
    const names = Array.from({ length: 40 }, (_, index) => `w${index}`);
    const ring = names.map((selector, at) => ({ selector, on: [{ selector: names[(at + 1) % 40]! }] }));
    expect(workloadOrder(spec(ring)).faults[0]?.value).toBe(
      "w0 -> w1 -> w2 -> w3 -> w4 -> w5 -> (34 more) -> w0",
    );
  });

  it("leaves a dependency on a stranger out and says so", () => {
    const result = workloadOrder(
      spec([{ selector: "P1", on: [{ selector: "db" }, { selector: "P2" }] }, { selector: "P2" }]),
    );
    expect(indices(result)).toEqual({ P1: 1, P2: 2 });
    expect(reported(result)).toEqual([
      'UnknownDependency: spec.workloads[0].dependencies[0].workload.selector must be the selector of a workload of the group (the dependency is left out), got "db"',
    ]);
  });

  it("takes a dependency for the workload of its name when its selector is none", () => {
    const result = workloadOrder(
      spec(
        [{ selector: "P1", on: [{ selector: "p-2", name: "P2-deployment" }] }, { selector: "P2" }],
        "ReverseKahn",
      ),
    );
    expect(indices(result)).toEqual({ P1: 2, P2: 1 });
    expect(reported(result)).toEqual([
      'SelectorMismatch: spec.workloads[0].dependencies[0].workload.selector must be that of the workload "P2-deployment", which is "P2", got "p-2"',
    ]);
  });

  it("orders two workloads of one selector as one, with the dependencies of both", () => {
    const result = workloadOrder(
      spec([
        { selector: "web", name: "web-a", on: [{ selector: "db" }] },
        { selector: "web", name: "web-b", on: [{ selector: "cache" }] },
        { selector: "db" },
        { selector: "cache" },
      ]),
    );
    expect(indices(result)).toEqual({ web: 1, cache: 2, db: 3 });
    expect(result.order.find(({ workload }) => workload.selector === "web")?.workload.name).toBe("web-a");
    expect(reported(result)).toEqual([
      'DuplicateSelector: spec.workloads[1].workload.selector must be unique in the group (the workloads are ordered as one), got "web"',
    ]);
  });

  it.each([
    ["nothing", undefined, "spec.workloads must be a list, got nothing"],
    ["a text", { workloads: "P1" }, 'spec.workloads must be a list, got "P1"'],
    [
      "a workload without selector and name",
      { workloads: [{ workload: { kind: "Deployment" } }] },
      "spec.workloads[0].workload.selector must be a text that is not empty, got nothing",
    ],
    [
      "a number as dependency",
      { workloads: [{ workload: { name: "a", selector: "a" }, dependencies: [7] }] },
      "spec.workloads[0].dependencies[0].workload.selector must be a text that is not empty, got nothing",
    ],
  ])("reports %s instead of throwing", (_, value, message) => {
    const result = workloadOrder(value, "KahnSort");
    expect(reported(result)).toEqual([`MalformedSpec: ${message}`]);
  });
});
