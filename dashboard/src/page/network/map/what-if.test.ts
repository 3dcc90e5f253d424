import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import { describe, expect, test } from "vitest";
import type { LinkLatency } from "../../model/link-latency.ts";
import { changeInWords, predict, withMove, type Known } from "./what-if.ts";

const LINKS: Readonly<Record<string, LinkLatency>> = {
  "a b": { p50Ms: 10, p95Ms: 13, errorMs: 0.5 },
  "b c": { p50Ms: 20, p95Ms: 24, errorMs: 1 },
  "a c": { p50Ms: 100, p95Ms: 150, errorMs: 2 },
  "a estimated": { p50Ms: 40, p95Ms: Number.NaN, errorMs: Number.NaN },
  "a dead": { p50Ms: Infinity, p95Ms: Infinity, errorMs: Number.NaN },
};
const UNKNOWN: LinkLatency = { p50Ms: Number.NaN, p95Ms: Number.NaN, errorMs: Number.NaN };
const latencyBetween = (source: string, target: string): LinkLatency =>
  source === target ? { p50Ms: 0, p95Ms: 0, errorMs: 0 } : (LINKS[`${source} ${target}`] ?? UNKNOWN);
const known = (measured: Known["measured"] = null): Known => ({
  costBetween: (source, target) => latencyBetween(source, target).p50Ms,
  latencyBetween,
  measured,
});
const workflowOf = (nodes: Readonly<Record<string, string>>) => {
  const names = Object.keys(nodes);
  return {
    workloads: names.map((name) => ({ name, pods: [{ name: `${name}-1`, node: nodes[name] }] })),
    channels: names.slice(1).map((target, index) => ({
      source: names[index],
      target,
      requestsPerSecond: 4,
      bytesPerSecond: 1,
    })),
  } as unknown as WorkflowGraphSnapshot;
};
const workflow = workflowOf({ front: "a", store: "c" });

describe("a prediction", () => {
  test("of the network is the slowest chain: medians with their errors, p95 independent to all at once", () => {
    const chain = workflowOf({ front: "a", cart: "b", store: "c" });
    const there = predict(chain, [{ pod: "store-1", node: "b" }], known())!;
    expect(there.kind).toBe("network");
    expect(there.p50).toEqual({
      today: { ms: 30, lowMs: 28.5, highMs: 31.5 },
      moved: { ms: 10, lowMs: 9.5, highMs: 10.5 },
    });
    expect(there.p95).toEqual({
      today: { ms: 35, lowMs: 35, highMs: 37 },
      moved: { ms: 13, lowMs: 13, highMs: 13 },
    });
  });

  test("of what is measured end to end shifts it by the chain's difference", () => {
    const there = predict(workflow, [{ pod: "store-1", node: "b" }], known({ p50Ms: 130, p95Ms: 200 }))!;
    expect(there.kind).toBe("measured");
    expect(there).toMatchObject({ today: { totalMs: 100 }, moved: { totalMs: 10 } });
    expect(there.p50).toEqual({
      today: { ms: 130, lowMs: 130, highMs: 130 },
      moved: { ms: 40, lowMs: 37.5, highMs: 42.5 },
    });
    expect(there.p95).toMatchObject({ today: { ms: 200 }, moved: { ms: 63 } });
  });

  test("names what keeps it from a percentile, and makes up no error that isn't known", () => {
    const there = predict(workflow, [{ pod: "store-1", node: "estimated" }], known())!;
    expect(there.p50).toMatchObject({ moved: { ms: 40, lowMs: null, highMs: null } });
    expect(there.p95).toEqual({ reason: "too few answers between a and estimated for a percentile" });
    const apart = predict(workflow, [{ pod: "store-1", node: "dead" }], known({ p50Ms: 130, p95Ms: 200 }))!;
    expect(apart.p50).toEqual({ reason: "pods that call each other can't reach each other" });
    expect(predict(workflow, [{ pod: "store-1", node: "nowhere" }], known())).toBeNull();
  });

  test("says what changes", () => {
    expect(changeInWords(100, 10)).toBe("90 ms less");
    expect(changeInWords(10, 12.5)).toBe("2.5 ms more");
    expect(changeInWords(10, 10.01)).toBe("as today");
    expect(changeInWords(10, Number.POSITIVE_INFINITY)).toBe("unreachable");
  });
});

test("a pod is moved once, and not at all once it is back where it runs", () => {
  const once = withMove(workflow, [], { pod: "store-1", node: "b" });
  const twice = withMove(workflow, once, { pod: "store-1", node: "a" });
  expect(twice).toEqual([{ pod: "store-1", node: "a" }]);
  expect(withMove(workflow, twice, { pod: "store-1", node: "c" })).toEqual([]);
});
