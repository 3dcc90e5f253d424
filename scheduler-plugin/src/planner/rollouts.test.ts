// Workflows whose pods are replaced while they run, step by step, with the whole planner.
import { describe, expect, test } from "vitest";
import { NODES, rolloutRig } from "../testing/rollout-rig.ts";

const CHANNELS = [
  ["web", "cart", 9_000],
  ["web", "search", 4_000],
  ["cart", "db", 12_000],
  ["cart", "pay", 2_000],
  ["pay", "db", 3_000],
  ["search", "index", 8_000],
  ["web", "auth", 1_000],
] as const;
const ALL = ["web", "cart", "search", "db", "pay", "index", "auth"];
const BAD = (workload: string, replica: number): string =>
  NODES[(4 * ALL.indexOf(workload) + 5 * replica) % NODES.length]!;

describe("restart", () => {
  test.each([1, 3])("all, %i replicas", async (replicas) => {
    const rig = await rolloutRig({ channels: CHANNELS, replicas, at: BAD });
    console.log("before", await rig.overBest());
    await rig.restart(...ALL);
    await rig.settled();
    console.log(await rig.placement(), await rig.overBest());
    console.log(rig.explanations().join("\n").slice(0,3000));
    expect(await rig.overBest()).toBeLessThan(1.05);
  });
});
