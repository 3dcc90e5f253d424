import { seededRandom } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { scheduleAll, UnschedulableError } from "./imitation.ts";
import type { SchedulableNode, WaitingPod } from "./port.ts";

const GI = 1024 ** 3;

const node = (name: string, fields: Partial<SchedulableNode> = {}): SchedulableNode => {
  const size = { cpuMillicores: 4_000, memoryBytes: 8 * GI, maxPods: 110 };
  return { name, zone: `z-${name}`, region: "r", ...size, ...fields };
};
const pod = (name: string, fields: Partial<WaitingPod> = {}): WaitingPod => {
  const requests = { cpuMillicores: 1_000, memoryBytes: 2 * GI };
  return { name, workload: name.replace(/-\d+$/, ""), ...requests, pinnedTo: null, ...fields };
};

describe("a run of pods", () => {
  test("breaks ties at random, and by the seed alone", () => {
    const request = { nodes: [node("a"), node("b"), node("c")], pods: [pod("web-0")], placed: [] };
    const chosen = (seed: number): string => scheduleAll(request, seededRandom(seed)).get("web-0")!;
    expect(new Set(Array.from({ length: 50 }, (_, seed) => chosen(seed)))).toEqual(new Set(["a", "b", "c"]));
    expect(chosen(7)).toBe(chosen(7));
  });

  test("ends with kube-scheduler's words when no node is left", () => {
    const nodes = [
      node("a", { cpuMillicores: 500 }),
      node("b", { maxPods: 1 }),
      node("c", { memoryBytes: GI }),
    ];
    const request = { nodes, pods: [pod("db-0")], placed: [[pod("web-0"), "b"]] } as const;
    expect(() => scheduleAll(request, seededRandom(1))).toThrow(UnschedulableError);
    expect(() => scheduleAll(request, seededRandom(1))).toThrow(
      "0/3 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods.",
    );
  });
});
