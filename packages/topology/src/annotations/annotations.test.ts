import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ClusterGraph } from "../cluster-graph.ts";
import { node } from "../testing/builders.ts";
import { FamilyNames } from "./names.ts";
import { readNodeAnnotations, readWorkloadAnnotations } from "./read.ts";
import { annotatedCluster, type AnnotatedNode } from "./snapshot.ts";
import { writeNodeAnnotations, writeWorkloadAnnotations } from "./write.ts";
import type { AnnotationTexts, WorkloadFigures } from "./write.ts";

const NOW_MS = Date.parse("2026-11-21T12:00:00Z");
const FIGURES = {
  availableCpuMillicores: 3250.7,
  availableMemoryBytes: 8 * 1024 ** 3 + 1,
  networkCostsMs: new Map([["b", 12.34567]]),
  coordinate: [1.00049, -2, 0.5],
};

function prefixed(texts: AnnotationTexts, prefix: string): Record<string, string> {
  return Object.fromEntries([...texts].map(([name, value]) => [prefix + name, value]));
}

describe("what stands on a node", () => {
  test("has the names, units and decimals of the contract", () => {
    expect(Object.fromEntries(writeNodeAnnotations(FIGURES, NOW_MS + 999))).toEqual({
      "available-cpu": "3250m",
      "available-memory": "8388608Ki",
      "network-coordinate": "[1,-2,0.5]",
      "network-cost-b": "12.346",
      "observed-at": "2026-11-21T12:00:00Z",
    });
  });

  test("is nothing at all while nothing is known, and never a cost of 0", () => {
    const unknown = {
      ...FIGURES,
      availableCpuMillicores: null,
      availableMemoryBytes: null,
      coordinate: null,
    };
    expect(writeNodeAnnotations({ ...unknown, networkCostsMs: new Map() }, NOW_MS).size).toBe(0);
    const close = writeNodeAnnotations({ ...unknown, networkCostsMs: new Map([["b", 0.0001]]) }, NOW_MS);
    expect(close.get("network-cost-b")).toBe("0.001");
  });

  test("names a node by a hash where its name doesn't fit or could be mistaken, and by itself up to 50 characters", () => {
    const fits = "n".repeat(50);
    const hashed = ["n".repeat(51), "names", `sha256-${"a".repeat(32)}`];
    const networkCostsMs = new Map([fits, ...hashed].map((name, index) => [name, index + 1]));
    const texts = writeNodeAnnotations({ ...FIGURES, networkCostsMs }, NOW_MS);
    expect(texts.get(`network-cost-${fits}`)).toBe("1.000");
    expect(new Set(Object.values(JSON.parse(texts.get("network-cost-names")!)))).toEqual(new Set(hashed));
    expect(readNodeAnnotations(prefixed(texts, "")).networkCostsMs).toEqual(networkCostsMs);
  });

  test("hashes by SHA-256, so that anybody can find a name without the map", () => {
    // printf '%s' names | sha256sum
    expect(new FamilyNames("network-cost").nameOf("names")).toBe(
      "network-cost-sha256-aeb24056810d3d1f1e8afee61a0bc002",
    );
  });
});

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
const nodeName = fc
  .oneof(
    fc.array(label, { minLength: 1, maxLength: 8 }).map((labels) => labels.join(".").slice(0, 253)),
    fc.constantFrom("names", `sha256-${"0".repeat(32)}`),
  )
  .map((name) => name.replace(/[-.]+$/, ""))
  .filter((name) => name !== "");
const figure = fc.option(fc.double({ min: 0, max: 1e12, noNaN: true }), { nil: null });

test("a graph that is written and read back is the same within rounding, whatever nodes are called", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(nodeName, { minLength: 1, maxLength: 12 }),
      fc.constantFrom("isochrone.dev/", "", "acme.example/"),
      fc.infiniteStream(fc.double({ min: 0.001, max: 1e5, noNaN: true })),
      fc.infiniteStream(figure),
      (names, prefix, costs, amounts) => {
        const nodes: AnnotatedNode[] = names.map((name) => {
          const networkCostsMs = new Map(
            names.filter((other) => other !== name).map((other) => [other, costs.next().value!]),
          );
          const figures = {
            availableCpuMillicores: amounts.next().value ?? null,
            availableMemoryBytes: amounts.next().value ?? null,
            coordinate: null,
            networkCostsMs,
          };
          const { ready, cordoned, zone, region, segment, ...rest } = node(name);
          const annotations = prefixed(writeNodeAnnotations(figures, NOW_MS), prefix);
          for (const key of Object.keys(annotations))
            expect(key.slice(prefix.length).length).toBeLessThan(64);
          expect(readNodeAnnotations(annotations, [prefix]).faults).toEqual([]);
          const read = readNodeAnnotations(annotations, [prefix]);
          for (const [other, costMs] of networkCostsMs)
            expect(Math.abs(read.networkCostsMs.get(other)! - costMs)).toBeLessThanOrEqual(0.000501);
          expect(read.networkCostsMs.size).toBe(networkCostsMs.size);
          expect(figures.availableCpuMillicores).toSatisfy(within(read.availableCpuMillicores, 1));
          expect(figures.availableMemoryBytes).toSatisfy(within(read.availableMemoryBytes, 1024));
          return { ready, cordoned, zone, region, segment, ...rest, annotations };
        });
        const { snapshot, faults, staleNodes } = annotatedCluster(nodes, {
          nowMs: NOW_MS,
          prefixes: [prefix],
        });
        expect(faults).toEqual([]);
        expect(snapshot.links.length).toBe(names.length * (names.length - 1));
        expect(staleNodes.length).toBeLessThan(names.length === 1 ? 2 : 1);
      },
    ),
    { numRuns: 200 },
  );
});

function within(read: number | null, step: number): (figure: number | null) => boolean {
  return (figure) => (figure === null || read === null ? figure === read : Math.abs(figure - read) <= step);
}

describe("what stands on a workload", () => {
  type Peer = WorkloadFigures["traffic"][number];
  const peer = (namespace: string, name: string, bytesPerSecond: number, isCalled = true): Peer => ({
    namespace,
    name,
    bytesPerSecond,
    isCalled,
  });
  const written = (traffic: readonly Peer[]): AnnotationTexts =>
    writeWorkloadAnnotations(
      { namespace: "shop", cpuMillicores: 120.1, memoryBytes: 2048.5, traffic },
      NOW_MS,
    );

  test("names peers, those of another namespace with it; use is rounded up", () => {
    const peers = [peer("shop", "cart", 1000.2, false), peer("pay", "api", 5)];
    expect(Object.fromEntries(written(peers))).toEqual({
      "cpu-usage": "121m",
      "memory-usage": "3Ki",
      "traffic-cart": "1001",
      "traffic-pay.api": "5",
      calls: '["pay.api"]',
      "observed-at": "2026-11-21T12:00:00Z",
    });
  });

  test("tells a peer with a dot in its name from one of another namespace", () => {
    const texts = written([
      peer("shop", "pay.api", 1),
      peer("pay", "api", 2),
      peer("shop", "x".repeat(60), 3, false),
    ]);
    const { traffic, faults } = readWorkloadAnnotations(prefixed(texts, "isochrone.dev/"));
    expect(faults).toEqual([]);
    expect(traffic.toSorted((a, b) => a.bytesPerSecond - b.bytesPerSecond)).toEqual([
      { namespace: null, name: "pay.api", bytesPerSecond: 1, isCalled: true },
      { namespace: "pay", name: "api", bytesPerSecond: 2, isCalled: true },
      { namespace: null, name: "x".repeat(60), bytesPerSecond: 3, isCalled: false },
    ]);
  });

  test("says nothing of calls without traffic, and not who calls where that isn't written", () => {
    expect(written([]).has("calls")).toBe(false);
    expect(written([peer("shop", "cart", 1, false)]).get("calls")).toBe("[]");
    const old = readWorkloadAnnotations({ "isochrone.dev/traffic-cart": "1" });
    expect(old.traffic.map(({ isCalled }) => isCalled)).toEqual([null]);
    const faulty = readWorkloadAnnotations({
      "isochrone.dev/traffic-cart": "1",
      "isochrone.dev/calls": "cart",
    });
    expect(faulty.faults).toMatchObject([
      { key: "isochrone.dev/calls", rule: "must be a JSON list of names" },
    ]);
    expect(faulty.traffic.map(({ isCalled }) => isCalled)).toEqual([null]);
  });
});

describe("reading", () => {
  const plain = (name: string, annotations: Record<string, unknown>): AnnotatedNode => {
    const { ready, cordoned, zone, region, segment, ...rest } = node(name);
    return { ready, cordoned, zone, region, segment, ...rest, annotations };
  };

  test("names what can't be and goes on with the rest", () => {
    const { faults, availableCpuMillicores } = readNodeAnnotations({
      "isochrone.dev/available-cpu": "2",
      "isochrone.dev/available-memory": "-1",
      "isochrone.dev/network-cost-b": "far",
      "isochrone.dev/network-cost-names": "{",
      "isochrone.dev/network-coordinate": "[1]",
      "isochrone.dev/observed-at": "yesterday",
    });
    expect(availableCpuMillicores).toBe(2000);
    expect(faults.map(({ key }) => key.slice("isochrone.dev/".length)).toSorted()).toEqual([
      "available-memory",
      "network-coordinate",
      "network-cost-b",
      "network-cost-names",
      "observed-at",
    ]);
  });

  test("leaves out what is older than 25 minutes, and what has no time", () => {
    const at = (minutes: number): string => new Date(NOW_MS - minutes * 60_000).toISOString();
    const { snapshot, staleNodes } = annotatedCluster(
      [
        plain("a", { "network-cost-b": "1", "available-cpu": "1", "observed-at": at(24) }),
        plain("b", { "network-cost-a": "1", "available-cpu": "1", "observed-at": at(26) }),
        plain("c", { "network-cost-a": "1" }),
      ],
      { nowMs: NOW_MS },
    );
    expect(staleNodes).toEqual(["b", "c"]);
    expect(snapshot.links.map(({ source, ageSeconds }) => [source, ageSeconds])).toEqual([["a", 24 * 60]]);
    expect(snapshot.nodes.map(({ availableCpuMillicores }) => availableCpuMillicores)).toEqual([
      1000,
      null,
      null,
    ]);
  });

  test("estimates by coordinates where no cost is annotated", () => {
    const observed = { "observed-at": new Date(NOW_MS).toISOString() };
    const { snapshot } = annotatedCluster(
      [
        plain("a", { "network-coordinate": "[0,0,1]", ...observed }),
        plain("b", { "network-coordinate": "[3,4,2]", ...observed }),
        plain("c", { ...observed, "network-cost-a": "7" }),
      ],
      { nowMs: NOW_MS },
    );
    const graph = new ClusterGraph(snapshot);
    expect(graph.cost("a", "b")).toMatchObject({ known: true, ms: 8, origin: "estimated" });
    expect(graph.cost("c", "a")).toMatchObject({ known: true, ms: 7, origin: "declared" });
    expect(graph.cost("a", "c").known).toBe(false);
  });
});
