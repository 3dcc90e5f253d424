import { DEFAULT_PLAN_SETTINGS, DEFAULT_SPREAD } from "@isochrone/placement";
import { expect, test } from "vitest";
import { plannerPlanning } from "./planner-settings.ts";

test("a planner without settings plans as a plan that was told of none", () => {
  const { bytesPerRequest, maxCpuUse, moneyShare, maxLatencyLoss } = DEFAULT_PLAN_SETTINGS;
  expect(plannerPlanning(undefined, {})).toEqual({
    spread: DEFAULT_SPREAD,
    cost: {
      bytesPerRequest,
      maxCpuUse,
      moneyShare,
      maxLatencyLoss,
      minGain: 1_000,
      minGainRatio: 0.1,
      minWorkflowGainRatio: 0.005,
    },
    rules: {
      minPodAgeMs: 600_000,
      allowLocalStorage: false,
      allowStatefulSets: false,
      allowSingleReplicas: false,
    },
  });
});

test("variables of the environment count", () => {
  const { spread, cost } = plannerPlanning(undefined, {
    ISOCHRONE_PLANNER_MAX_CPU_USE: "0.5",
    ISOCHRONE_PLANNER_MIN_NODES: "3",
  });
  expect([spread.minNodes, cost.maxCpuUse]).toEqual([3, 0.5]);
});
