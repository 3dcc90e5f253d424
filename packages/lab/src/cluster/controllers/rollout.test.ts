import { describe, expect, it } from "vitest";
import { rolloutSizes } from "./rollout.ts";
import type { RolloutStrategy } from "./rollout.ts";

function rolledOut(replicas: number, strategy: RolloutStrategy): { total: number; ready: number }[] {
  let [current, old] = [0, replicas];
  const steps: { total: number; ready: number }[] = [];
  for (;;) {
    const size = (wanted: number, ready: number) => ({ wanted, running: wanted, ready });
    const next = rolloutSizes({
      replicas,
      strategy,
      current: size(current, current),
      old: [size(old, old)],
    });
    if (next.current === current && next.old[0] === old) break;
    // Worst case: new pods exist before old ones go, and become ready afterwards.
    steps.push({ total: next.current + old, ready: current + next.old[0]! });
    [current, old] = [next.current, next.old[0]!];
  }
  expect({ current, old }).toEqual({ current: replicas, old: 0 });
  return steps;
}

describe("a rollout", () => {
  it.each([
    [{}, 1, 2, 1],
    [{}, 4, 5, 3],
    [{}, 10, 13, 8],
    [{ type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }, 3, 4, 3],
    [{ type: "RollingUpdate", rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } }, 3, 3, 2],
    [{ type: "RollingUpdate", rollingUpdate: { maxSurge: "0%", maxUnavailable: "10%" } }, 3, 3, 2],
    [{ type: "RollingUpdate", rollingUpdate: { maxSurge: "50%", maxUnavailable: 0 } }, 3, 5, 3],
    [{ type: "Recreate" }, 3, 3, 0],
  ])("by %o of %i pods has at most %i and at least %i that are ready", (strategy, replicas, most, least) => {
    const steps = rolledOut(replicas, strategy);
    expect(Math.max(...steps.map(({ total }) => total))).toBe(most);
    expect(Math.min(...steps.map(({ ready }) => ready))).toBe(least);
  });

  it("waits for new pods that aren't ready", () => {
    const current = { wanted: 1, running: 1, ready: 0 };
    const old = [{ wanted: 3, running: 3, ready: 3 }];
    const strategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    expect(rolloutSizes({ replicas: 3, strategy, current, old })).toEqual({ current: 1, old: [3] });
  });

  it("first removes old pods that aren't ready", () => {
    const current = { wanted: 1, running: 1, ready: 1 };
    const old = [
      { wanted: 2, running: 2, ready: 2 },
      { wanted: 1, running: 1, ready: 0 },
    ];
    const strategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    expect(rolloutSizes({ replicas: 3, strategy, current, old })).toEqual({ current: 1, old: [2, 0] });
  });

  it("recreates only after the old pods have gone", () => {
    const current = { wanted: 0, running: 0, ready: 0 };
    const old = [{ wanted: 0, running: 1, ready: 0 }];
    const sizes = rolloutSizes({ replicas: 2, strategy: { type: "Recreate" }, current, old });
    expect(sizes).toEqual({ current: 0, old: [0] });
  });
});
