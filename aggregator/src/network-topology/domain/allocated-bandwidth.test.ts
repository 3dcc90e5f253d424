import { allSteps } from "@isochrone/primitives/algorithms";
import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { allocatedBandwidthSteps, type PlacedPod, type Requirement } from "./allocated-bandwidth.ts";
import { AreaIndex, type AreaNode } from "./areas.ts";

const at = (region: string | null, zone: string | null, segment: string | null = null): AreaNode => ({
  region,
  zone,
  segment,
});

const NODES = new Map([
  ["n1", at("west", "z1")],
  ["n2", at("west", "z1")],
  ["n3", at("west", "z2")],
  ["n4", at("east", "z3")],
  ["bare", at(null, null)],
]);

const allocatedBandwidth = (
  nodes: ReadonlyMap<string, AreaNode>,
  pods: Iterable<PlacedPod>,
  needs: Iterable<Requirement>,
) => {
  const named = [...nodes].map(([name, area]) => ({ name, ...area }));
  return allSteps(allocatedBandwidthSteps(new AreaIndex(named), pods, needs));
};

const pod = (selector: string, node: string, more: Partial<PlacedPod> = {}): PlacedPod => ({
  namespace: "default",
  appGroup: "a1",
  selector,
  node,
  ...more,
});

const need = (selector: string, dependencySelector: string, minBitsPerSecond: number): Requirement => ({
  namespace: "default",
  appGroup: "a1",
  selector,
  dependencySelector,
  minBitsPerSecond,
});

/** The example of KEP-260. */
const A1 = [need("p1", "p2", 100 * 2 ** 20), need("p2", "p3", 250 * 2 ** 20)];

const allocated = (pods: PlacedPod[], needs: Requirement[] = A1) =>
  Object.fromEntries(allocatedBandwidth(NODES, pods, needs));

describe("bandwidth that is allocated between areas", () => {
  test("is what each pod needs to each pod of its dependency, between zones of a region and between regions", () => {
    expect(allocated([pod("p1", "n1"), pod("p2", "n3"), pod("p3", "n4")])).toEqual({
      "zone\nz1\nz2": 104_857_600n,
      "region\nwest\neast": 262_144_000n,
    });
    expect(allocated([pod("p1", "n1"), pod("p1", "n2"), pod("p2", "n3"), pod("p2", "n3")])).toEqual({
      "zone\nz1\nz2": 4n * 104_857_600n,
    });
  });

  test("is nothing within a zone, on nodes without labels, and on nodes that are gone", () => {
    expect(allocated([pod("p1", "n1"), pod("p2", "n2"), pod("p3", "bare"), pod("p2", "gone")])).toEqual({});
  });

  test("follows the AppGroup of the pod's own namespace; its dependencies may be in any", () => {
    expect(allocated([pod("p1", "n1", { namespace: "other" }), pod("p2", "n3")])).toEqual({});
    expect(allocated([pod("p1", "n1"), pod("p2", "n3", { namespace: "other" })])).toEqual({
      "zone\nz1\nz2": 104_857_600n,
    });
  });

  test("is exact where a number would not be", () => {
    const pods = Array.from({ length: 30 }, () => pod("p1", "n1"));
    const needs = [need("p1", "p2", Number.MAX_SAFE_INTEGER)];
    expect(allocated([...pods, pod("p2", "n3")], needs)).toEqual({
      "zone\nz1\nz2": 30n * BigInt(Number.MAX_SAFE_INTEGER),
    });
  });
});

describe("under churn", () => {
  const REGIONS = [null, "r1", "r2", "r3"];
  const ZONES = [null, "a", "b", "c"];
  const SELECTORS = ["p1", "p2", "p3"];

  const isNeedOf = (n: Requirement, p: PlacedPod, q: PlacedPod): boolean =>
    n.namespace === p.namespace &&
    [p.appGroup, q.appGroup].every((name) => name === n.appGroup) &&
    n.selector === p.selector &&
    n.dependencySelector === q.selector;

  /** Reference implementation as in upstream's controller: pod by pod and dependency by dependency. */
  function naive(nodes: ReadonlyMap<string, AreaNode>, pods: PlacedPod[], needs: Requirement[]) {
    const sums: Record<string, bigint> = {};
    const add = (key: string, bits: number): void => {
      sums[key] = (sums[key] ?? 0n) + BigInt(bits);
    };
    const between = (kind: string, from: string | null, to: string | null, bits: number): void => {
      if (from !== null && to !== null && from !== to) add(`${kind}\n${from}\n${to}`, bits);
    };
    for (const p of pods) {
      for (const q of pods) {
        const a = nodes.get(p.node);
        const b = nodes.get(q.node);
        if (a === undefined || b === undefined || p.node === q.node) continue;
        for (const n of needs.filter((one) => isNeedOf(one, p, q))) {
          if (a.region === b.region) between("zone", a.zone, b.zone, n.minBitsPerSecond);
          else between("region", a.region, b.region, n.minBitsPerSecond);
          between("segment", a.segment, b.segment, n.minBitsPerSecond);
        }
      }
    }
    return sums;
  }

  test.each(Array.from({ length: 20 }, (_, seed) => seed))(
    "it is what adding up pair by pair comes to (seed %i)",
    (seed) => {
      const random = seededRandom(seed + 1);
      const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!;
      const nodes = new Map<string, AreaNode>();
      const relabel = (name: string): unknown =>
        nodes.set(name, at(pick(REGIONS), pick(ZONES), pick([null, "s1", "s2"])));
      for (let index = 0; index < 8; index++) relabel(`n${index}`);
      const needs = SELECTORS.flatMap((selector) =>
        ["x", "y"].map((namespace) => ({
          ...need(selector, pick(SELECTORS), Math.floor(random.next() * 1e9)),
          namespace,
        })),
      );
      let pods: PlacedPod[] = [];
      for (let round = 0; round < 60; round++) {
        const what = random.next();
        if (what < 0.6)
          pods.push({
            namespace: pick(["x", "y"]),
            appGroup: pick(["a1", "a2"]),
            selector: pick(SELECTORS),
            node: `n${Math.floor(random.next() * 9)}`,
          });
        else if (what < 0.8) pods = pods.filter(() => random.next() > 0.1);
        else if (what < 0.9) relabel(`n${Math.floor(random.next() * 8)}`);
        else nodes.delete(`n${Math.floor(random.next() * 8)}`);
        expect(Object.fromEntries(allocatedBandwidth(nodes, pods, needs))).toEqual(naive(nodes, pods, needs));
      }
    },
  );
});
