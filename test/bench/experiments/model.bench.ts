import { scenarioFile } from "@isochrone/experiments";
import type { Point } from "@isochrone/experiments/testing";
import { createModelTestbed, loadScenario } from "@isochrone/experiments/testing";
import type { BenchResult } from "../types.ts";

const CALLS_A_REQUEST = 32;
/** A call arrives, is processed, and is answered. A request is itself a call and is also sent. */
const EVENTS_A_REQUEST = 3 * (CALLS_A_REQUEST + 1) + 1;
const USERS = 600;
const SECONDS = 60;
const TARGET_PER_SECOND = 2e6;

export async function run(): Promise<BenchResult[]> {
  const point = heaviest();
  const { signal } = new AbortController();
  const running = await createModelTestbed({ hopMs: 0.2 }).start(point, placementOf(point), 1, signal);
  // Warms up, because an experiment mostly runs compiled code.
  await running.run(10);
  const startedMs = performance.now();
  const { responseMs } = await running.run(SECONDS);
  const seconds = (performance.now() - startedMs) / 1000;
  const perSecond = (responseMs.length * EVENTS_A_REQUEST) / seconds;
  return [
    {
      name: "model events",
      value: Math.round(perSecond / 1e4) / 100,
      unit: "million/s",
      target: `>= ${TARGET_PER_SECOND / 1e6}`,
      met: perSecond >= TARGET_PER_SECOND,
    },
    { name: `model, ${USERS} users for ${SECONDS} s`, value: Math.round(seconds * 100) / 100, unit: "s" },
  ];
}

/** Assigns services to nodes in turn. */
function placementOf({ cluster, workflow }: Point): Map<string, string> {
  const { nodes } = cluster;
  return new Map(
    workflow.workloads.map(({ name }, index) => [`${name}-0`, nodes[index % nodes.length]!.name]),
  );
}

function heaviest(): Point {
  const { points } = loadScenario(scenarioFile("figure-3")!);
  return points.find(({ labels }) => labels["users"] === USERS && labels["rttMs"] === 100)!;
}
