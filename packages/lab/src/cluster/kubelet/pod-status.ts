import { timestamp, withConditions } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, PodStatus } from "@isochrone/kubernetes";
import { podSpec } from "../objects.ts";

export interface PodReport {
  readonly state: "running" | "crashed";
  readonly nowMs: number;
  readonly hostAddress: string | null;
  readonly address: string;
  readonly containerId: string;
  readonly restarts: number;
}

/** The API server requires hostIP and podIP to equal the first entries of their lists. */
export function podStatus(pod: KubernetesObject, report: PodReport): Record<string, unknown> {
  const { hostAddress, address, containerId, restarts, nowMs } = report;
  const ready = report.state === "running";
  const status = ready ? "True" : "False";
  const time = timestamp(nowMs);
  const container = podSpec(pod).containers?.[0];
  const conditions = ["Initialized", "ContainersReady", "Ready"].map((type) => ({
    type,
    status: type === "Initialized" ? "True" : status,
  }));
  return {
    phase: "Running",
    ...(hostAddress === null ? {} : { hostIP: hostAddress, hostIPs: [{ ip: hostAddress }] }),
    podIP: address,
    podIPs: [{ ip: address }],
    startTime: looseFields<PodStatus>(pod.status).startTime ?? time,
    conditions: withConditions(pod, conditions, time),
    containerStatuses: [
      {
        name: container?.name ?? "app",
        image: container?.image ?? "",
        imageID: container?.image ?? "",
        containerID: `containerd://${containerId}`,
        ready,
        started: ready,
        restartCount: restarts,
        state: ready ? { running: { startedAt: time } } : { waiting: WAITING },
      },
    ],
  };
}

const WAITING = {
  reason: "CrashLoopBackOff",
  message: "the process ended; it is started again after a pause",
} as const;
