import { describe, expect, test } from "vitest";
import { networkLimitViolations } from "./network-limits.ts";
import type { PlacementProblem } from "./problem.ts";
import { channel, link, node, problem, workload } from "../testing/problems.ts";

const use = { cpu: 1, memory: 1 };
const nodes = ["a", "b", "c", "d"].map((name) => node(name, 1, 1));

function limited(
  maxNetworkCost: number | null,
  q: Record<string, string>,
  between: ReturnType<typeof link>[],
): PlacementProblem {
  const workloads = [workload("p", use, {}), workload("q", use, q)];
  return problem(nodes, between, workloads, [
    channel("p", "q", null, { maxNetworkCost, origin: "declared" }),
  ]);
}

describe("a declared maxNetworkCost", () => {
  test("rejects the nodes beyond it, and says which channel and cost", () => {
    const violations = networkLimitViolations(
      limited(10, { "q-1": "c" }, [link("a", "c", 5), link("b", "c", 12)]),
    );
    expect([...violations.keys()]).toEqual(["b"]);
    expect(violations.get("b")).toBe(
      "maxNetworkCost of channel p -> q is 10, the network cost from b is 12.000 (1 of 1 replicas beyond it)",
    );
  });

  test("admits a cost that equals it, and the node of the peer itself", () => {
    expect(networkLimitViolations(limited(5, { "q-1": "c" }, [link("a", "c", 5)])).size).toBe(0);
    expect(networkLimitViolations(limited(0, { "q-1": "c" }, [])).has("c")).toBe(false);
  });

  test("counts an unreachable pair as beyond it", () => {
    const dead = link("a", "c", null, { lossRatio: 1 });
    expect(networkLimitViolations(limited(1_000, { "q-1": "c" }, [dead])).get("a")).toContain(
      "is unreachable",
    );
  });

  test("of 10,000 is none: nothing is too far, as nothing is for upstream's plugin", () => {
    const dead = link("a", "c", null, { lossRatio: 1 });
    expect(networkLimitViolations(limited(10_000, { "q-1": "c" }, [dead])).size).toBe(0);
    expect(networkLimitViolations(limited(9_999, { "q-1": "c" }, [dead])).size).toBe(1);
  });

  test("doesn't reject what was never measured", () => {
    expect(networkLimitViolations(limited(1, { "q-1": "c" }, [])).size).toBe(0);
  });

  test("goes by the majority of the placed replicas; a tie passes", () => {
    const between = [link("a", "c", 50), link("a", "d", 1), link("b", "c", 50), link("b", "d", 50)];
    const violations = networkLimitViolations(limited(10, { "q-1": "c", "q-2": "d" }, between));
    expect([...violations.keys()]).toEqual(["b"]);
  });

  test("that nobody declared rejects nothing", () => {
    expect(networkLimitViolations(limited(null, { "q-1": "c" }, [link("a", "c", 1e6)])).size).toBe(0);
  });

  test("holds for channels that lead to the pod, too", () => {
    const workloads = [workload("p", use, {}), workload("q", use, { "q-1": "c" })];
    const channels = [channel("q", "p", null, { maxNetworkCost: 1 })];
    expect(networkLimitViolations(problem(nodes, [link("a", "c", 5)], workloads, channels)).has("a")).toBe(
      true,
    );
  });
});
