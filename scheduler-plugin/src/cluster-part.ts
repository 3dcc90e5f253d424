// The parts that use the cluster's objects: pod watch, decision Events, guard of the managed resource.
// Without a cluster none exists, and the graphs alone place pods.
import type { ClusterStore } from "@isochrone/kubernetes";
import type { Clock, Logger, Part, Random } from "@isochrone/runtime";
import type { ClusterPods } from "./adapters/cluster-pods.ts";
import { countedEvents } from "./adapters/counted-events.ts";
import { DecisionEvents } from "./adapters/decision-events.ts";
import { FallbackGraphs } from "./adapters/fallback-graphs.ts";
import { ManagedResourceGuard } from "./adapters/managed-resource-guard.ts";
import { NodeAnnotations } from "./adapters/node-annotations.ts";
import { standingOf } from "./adapters/observed-pod.ts";
import { PodObserver } from "./adapters/pod-observer.ts";
import type { DecisionLog } from "./domain/decision-log.ts";
import { DecisionRecorder } from "./domain/decision-recorder.ts";
import type { Ledger } from "./domain/ledger.ts";
import type { SchedulerMetrics } from "./adapters/metrics.ts";
import type { GraphSource } from "./ports/ports.ts";
import type { SchedulerPluginConfig } from "./settings.ts";

/** The extender is configured for the default scheduler's profile. */
const CANARY_SCHEDULER = "default-scheduler";

interface ClusterPartDeps {
  readonly store: ClusterStore;
  readonly pods: ClusterPods;
  readonly ledger: Ledger;
  readonly decisions: DecisionLog;
  readonly graphs: GraphSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: SchedulerMetrics;
}

export class ClusterPart {
  readonly parts: readonly Part[];
  readonly guard: ManagedResourceGuard | null;
  readonly recorder: DecisionRecorder;
  /** Graphs from the graph API, or from node annotations as a fallback. */
  readonly graphs: GraphSource;
  readonly #pods: ClusterPods;

  constructor(config: SchedulerPluginConfig, deps: ClusterPartDeps) {
    const { store, pods, ledger, decisions, clock, random, logger, metrics } = deps;
    this.#pods = pods;
    const annotations = new NodeAnnotations({ store, clock, random, logger });
    this.graphs = new FallbackGraphs(deps.graphs, annotations, clock);
    const recorder = config.podEvents
      ? countedEvents({ store, replica: config.replicaName, clock, logger, metrics })
      : null;
    const events = recorder === null ? null : new DecisionEvents(recorder);
    this.recorder = new DecisionRecorder({
      graphs: this.graphs,
      ledger,
      decisions,
      standingOf: (pod) => standingOf(pods.get(pod.namespace, pod.name), pod),
      onRecorded: (explanation, pod) => events?.decided(pod, config.strategy, explanation),
      onUnrecorded: (reason) => metrics.unrecordedDecisions.inc({ reason }),
    });
    const observer = new PodObserver({
      pods,
      ledger,
      recorder: this.recorder,
      decisions,
      graphs: this.graphs,
      keepMs: config.ledgerMs,
      clock,
      onBound: (pod, node) => events?.bound(pod, node),
    });
    this.guard = guardOf(config, deps);
    this.parts = [
      { name: "Events", service: recorder },
      { name: "node annotations", service: annotations },
      { name: "pod observer", service: observer },
      { name: "managed resource", service: this.guard },
    ];
  }

  get synced(): boolean {
    return this.#pods.isSynced;
  }
}

function guardOf(config: SchedulerPluginConfig, deps: ClusterPartDeps): ManagedResourceGuard | null {
  const { managedResource: resource } = config;
  if (resource === null) return null;
  const { store, clock, random, logger, metrics } = deps;
  return new ManagedResourceGuard({
    store,
    resource,
    namespace: config.canaryNamespace,
    image: config.canaryImage,
    schedulerName: CANARY_SCHEDULER,
    periodMs: config.canaryPeriodMs,
    deadlineMs: config.canaryDeadlineMs,
    required: config.canaryRequired,
    clock,
    random,
    logger,
    metrics: metrics.canary,
  });
}
