// Follows pods, and records where they are until the graphs show it.
import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Service } from "@isochrone/runtime";
import type { Ledger } from "../domain/ledger.ts";
import type { PodChanges } from "./cluster-pods.ts";
import { identityOf, isGone, isUnschedulable, placementOf } from "./observed-pod.ts";
import type { DecisionLog } from "../domain/decision-log.ts";
import type { DecisionRecorder } from "../domain/decision-recorder.ts";
import { ClusterTime } from "../domain/cluster-time.ts";
import { entryOf } from "../domain/reserved-use.ts";
import type { GraphSource } from "../ports/ports.ts";

interface PodObserverOptions {
  readonly pods: PodChanges;
  readonly ledger: Ledger;
  /** Receives decisions made before their pod was seen. */
  readonly recorder: Pick<DecisionRecorder, "shown">;
  readonly decisions: Pick<DecisionLog, "bound" | "gone">;
  readonly graphs: GraphSource;
  /** How long a binding counts while the graphs don't show it. */
  readonly keepMs: number;
  readonly clock: Clock;
  readonly onBound?: (pod: KubernetesObject, node: string) => void;
}

export class PodObserver implements Service {
  readonly #options: PodObserverOptions;
  readonly #time: ClusterTime;
  #end: (() => void) | null = null;

  constructor(options: PodObserverOptions) {
    this.#options = options;
    this.#time = new ClusterTime(options.clock);
  }

  start(): Promise<void> {
    this.#end = this.#options.pods.onChange((change) => this.#take(change));
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#end?.();
    return Promise.resolve();
  }

  #take({ type, object }: InformerChange): void {
    const { ledger, recorder, decisions, graphs, keepMs, clock, onBound } = this.#options;
    const pod = identityOf(object);
    if (type === "deleted" || isGone(object)) {
      decisions.gone(pod);
      return ledger.remove(pod.namespace, pod.name);
    }
    const placement = placementOf(object);
    recorder.shown(pod, placement?.bound !== true);
    if (placement === null) {
      // kube-scheduler may ask about a pod before the watch reports it. Only an explicit "unschedulable"
      // removes it.
      if (isUnschedulable(object)) ledger.remove(pod.namespace, pod.name);
      else ledger.withdraw(pod.namespace, pod.name);
      return;
    }
    const { node, bound, sinceMs } = placement;
    const nowMs = clock.now();
    if (bound) decisions.bound(pod, node, sinceMs ?? nowMs);
    // Use the clock that makes it younger: ours may be years ahead.
    const ageMs = sinceMs === null ? 0 : Math.max(0, Math.min(nowMs - sinceMs, this.#time.ageMs(sinceMs)));
    const untilMs = bound ? clock.monotonic() + keepMs - ageMs : Infinity;
    if (untilMs <= clock.monotonic()) return ledger.remove(pod.namespace, pod.name);
    const graph = graphs.workflow(pod.namespace, pod.workflow);
    ledger.observe(entryOf(pod, node, graph, graphs.cluster()), graph, untilMs);
    if (bound) onBound?.(object, node);
  }
}
