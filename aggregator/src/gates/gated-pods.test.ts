import { KINDS, PLACEMENT_GATE, timestamp, type KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { GatedPods } from "./gated-pods.ts";

const WALL_MS = Date.parse("2026-01-01T00:10:00Z");
const DEADLINE_MS = 60_000;

const pod = (name: string, options: { ageMs?: number; gates?: string[]; uid?: string } = {}) =>
  ({
    ...KINDS.pod,
    metadata: {
      name,
      namespace: "shop",
      uid: options.uid ?? name,
      creationTimestamp: timestamp(WALL_MS - (options.ageMs ?? 0)),
    },
    spec: { schedulingGates: (options.gates ?? [PLACEMENT_GATE]).map((gate) => ({ name: gate })) },
  }) satisfies KubernetesObject;

/** Uses the time since the first pod for both clocks. */
const names = (pods: GatedPods, nowMs: number): string[] =>
  pods.due(DEADLINE_MS, nowMs, WALL_MS + nowMs).map((each) => each.pod.metadata.name);
const added = (object: KubernetesObject) => ({ type: "added", object }) as const;

describe("pods past their deadline", () => {
  test("are those that are old enough, the oldest first", () => {
    const pods = new GatedPods();
    for (const [name, ageMs] of [
      ["a", 59_000],
      ["b", 61_000],
      ["c", 90_000],
    ] as const)
      pods.take(added(pod(name, { ageMs })), 0);
    expect(names(pods, 0)).toEqual(["c", "b"]);
    expect(names(pods, 1_000)).toEqual(["c", "b", "a"]);
  });

  test("come by what was seen where the creation time is in the future", () => {
    const pods = new GatedPods();
    pods.take(added(pod("a", { ageMs: -3_600_000 })), 5_000);
    expect(names(pods, 64_999)).toEqual([]);
    expect(names(pods, 65_000)).toEqual(["a"]);
  });

  test("count from when the gates of others were gone, however often the pod changes", () => {
    const pods = new GatedPods();
    const waiting = pod("a", { ageMs: 600_000, gates: ["quota.dev/x", PLACEMENT_GATE] });
    pods.take(added(waiting), 0);
    expect(names(pods, 600_000)).toEqual([]);
    pods.take({ type: "modified", object: pod("a", { ageMs: 600_000 }) }, 600_000);
    pods.take({ type: "modified", object: pod("a", { ageMs: 600_000 }) }, 630_000);
    expect(names(pods, 659_999)).toEqual([]);
    expect(names(pods, 660_000)).toEqual(["a"]);
  });

  test("are forgotten when the gate went, the pod went, or is about to", () => {
    const pods = new GatedPods();
    for (const name of ["a", "b", "c", "d"]) pods.take(added(pod(name, { ageMs: 70_000 })), 0);
    pods.take({ type: "modified", object: pod("a", { gates: [] }) }, 0);
    pods.take({ type: "deleted", object: pod("b") }, 0);
    const leaving = pod("c");
    pods.take(
      { type: "modified", object: { ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: "x" } } },
      0,
    );
    expect(names(pods, 0)).toEqual(["d"]);
    pods.forget(pod("d", { uid: "another of that name" }));
    expect(pods.size).toBe(1);
    pods.forget(pod("d"));
    expect(pods.size).toBe(0);
  });

  test("that can't be opened are tried later and later, and at once when they change", () => {
    const pods = new GatedPods();
    const stuck = pod("a", { ageMs: 70_000 });
    pods.take(added(stuck), 0);
    pods.failed(stuck, 0);
    expect([names(pods, 999), names(pods, 1_000)]).toEqual([[], ["a"]]);
    pods.failed(stuck, 1_000);
    expect([names(pods, 2_999), names(pods, 3_000)]).toEqual([[], ["a"]]);
    pods.failed(stuck, 3_000);
    pods.take({ type: "modified", object: stuck }, 3_001);
    expect(names(pods, 3_001)).toEqual(["a"]);
  });

  test("of the same name as one that went are new", () => {
    const pods = new GatedPods();
    pods.take(added(pod("a", { uid: "1" })), 0);
    pods.take({ type: "modified", object: pod("a", { uid: "2", ageMs: -59_000 }) }, 59_000);
    expect(names(pods, 61_000)).toEqual([]);
    expect(pods.longestWaitMs(61_000, WALL_MS + 61_000)).toBe(2_000);
  });
});
