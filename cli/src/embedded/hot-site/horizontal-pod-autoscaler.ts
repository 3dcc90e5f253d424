// Stand-in for the HorizontalPodAutoscaler on CPU: uses the mean over all replicas and ignores zones.
import { KINDS, type ClusterStore } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import { periodic, type Clock, type Logger, type Periodic } from "@isochrone/runtime";
import type { GraphClient } from "@isochrone/topology/client";

const TARGET = 0.7;
const TOLERANCE = 0.1;
const INTERVAL_MS = 2_000;
const MAX_REPLICAS = 30;

interface AutoscalerOptions {
  readonly store: ClusterStore;
  readonly graphs: Pick<GraphClient, "workflow">;
  readonly namespace: string;
  readonly workflow: string;
  readonly deployment: string;
  readonly requestedMillicores: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class HorizontalPodAutoscaler {
  readonly #options: AutoscalerOptions;
  readonly #periodic: Periodic;

  constructor(options: AutoscalerOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#periodic = periodic({
      clock,
      intervalMs: INTERVAL_MS,
      run: () => this.#scale(),
      onError: (error) => logger.warnOnce("autoscaler", "replicas can't be scaled", { error }),
    });
  }

  start(): void {
    this.#periodic.start();
  }

  stop(): Promise<void> {
    return this.#periodic.stop();
  }

  /** Only scales up: by default, scaling down waits for minutes. */
  async #scale(): Promise<void> {
    const { graphs, store, namespace, workflow, deployment: name, requestedMillicores } = this.#options;
    const graph = await graphs.workflow(namespace, workflow);
    const used = graph?.value.workloads.find((workload) => workload.name === name)?.cpuMillicores ?? null;
    const ref = { ...KINDS.deployment, namespace, name };
    const { replicas } = looseFields<{ replicas: number }>((await store.get(ref))?.spec);
    if (used === null || typeof replicas !== "number") return;
    const wanted = wantedReplicas(replicas, used / requestedMillicores);
    if (wanted > replicas) await store.patch(ref, { spec: { replicas: wanted } });
  }
}

function wantedReplicas(replicas: number, utilization: number): number {
  const ratio = utilization / TARGET;
  return Math.abs(ratio - 1) <= TOLERANCE
    ? replicas
    : Math.min(MAX_REPLICAS, Math.max(1, Math.ceil(replicas * ratio)));
}
