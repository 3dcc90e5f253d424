import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane } from "../../harness/control-plane/index.ts";
import { sumOf } from "../../harness/extender.ts";

export interface Measured {
  readonly podsPerSecond: number;
  readonly cpuMsPerPod: number;
}

const NAMESPACE = "shop";
const POLL_MS = 100;

/** Schedules pods that wait before kube-scheduler starts. Measures from the first binding to the last. */
export async function schedule(
  cluster: ControlPlane,
  config: string,
  count: number,
  ours = true,
): Promise<Measured> {
  await cluster.stop("scheduler");
  await cluster.createPods(
    Array.from({ length: count }, (_, index) => `frontend-${index}`),
    {
      namespace: NAMESPACE,
      labels: ours ? { app: "frontend", "isochrone.dev/workflow": "flow" } : { app: "other" },
      requests: { cpu: "10m", memory: "8Mi" },
    },
  );
  await cluster.restartScheduler(config);
  let begin: { readonly atMs: number; readonly pods: number; readonly cpuSeconds: number } | null = null;
  for (;;) {
    const pods = sumOf(
      await cluster.metrics("scheduler"),
      "scheduler_schedule_attempts_total",
      'result="scheduled"',
    );
    const now = { atMs: performance.now(), pods, cpuSeconds: cluster.usage("scheduler").cpuSeconds };
    if (pods > 0) begin ??= now;
    if (begin !== null && pods >= count) {
      const done = pods - begin.pods;
      await cluster.request("DELETE", `/api/v1/namespaces/${NAMESPACE}/pods?gracePeriodSeconds=0`);
      await cluster.waitFor("pods", (all) => all.length === 0, { namespace: NAMESPACE });
      return {
        podsPerSecond: (done * 1_000) / (now.atMs - begin.atMs),
        cpuMsPerPod: ((now.cpuSeconds - begin.cpuSeconds) * 1_000) / done,
      };
    }
    await sleep(POLL_MS);
  }
}
