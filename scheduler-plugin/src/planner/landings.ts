// Pods that were released by plan, until it is known what became of them.
import { conditionsOf, keyOf } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, PodStatus } from "@isochrone/kubernetes";
import { isGone, isUnschedulable, placementOf } from "../adapters/observed-pod.ts";
import type { LandingOutcome } from "./metrics.ts";

/** A pod on its way to its node. */
export interface Flight {
  /** namespace/name */
  readonly key: string;
  readonly uid: string;
  readonly node: string;
  /** namespace/workflow */
  readonly workflow: string;
  /** The decision that it carries out; null for one of a predecessor of this process. */
  readonly decision: string | null;
  /** Monotonic milliseconds. */
  readonly releasedMs: number;
}

/** How a flight ended. */
export interface Arrival {
  readonly flight: Flight;
  readonly outcome: LandingOutcome;
  /** Where the pod is; null when it is nowhere. */
  readonly node: string | null;
  /** What kube-scheduler said of a pod that it found no node for. */
  readonly message: string | null;
  /** The nomination is ours and still there: it is to be taken back. */
  readonly isStillNominated: boolean;
}

export class Landings {
  readonly #flights = new Map<string, Flight>();

  get size(): number {
    return this.#flights.size;
  }

  /** Replaces a flight of the same pod. */
  add(flight: Flight): void {
    this.#flights.set(flight.key, flight);
  }

  has(podKey: string): boolean {
    return this.#flights.has(podKey);
  }

  /** It was not released after all. */
  remove(podKey: string): void {
    this.#flights.delete(podKey);
  }

  /** Keys of those pods that are still on their way. */
  pending(podKeys: Iterable<string>): string[] {
    return [...podKeys].filter((key) => this.#flights.has(key));
  }

  /**
   * What the cluster shows of a pod now; an arrival ends the flight. Null while it goes on, and for pods that
   * weren't awaited.
   */
  take(change: { readonly type: string; readonly object: KubernetesObject }): Arrival | null {
    const key = keyOf(change.object);
    const flight = this.#flights.get(key);
    if (flight === undefined) return null;
    const arrival = arrivalOf(flight, change.type, change.object);
    if (arrival !== null) this.#flights.delete(key);
    return arrival;
  }

  /** Ends flights that began at `thenMs` or before. */
  expire(thenMs: number): Arrival[] {
    const late = [...this.#flights.values()].filter(({ releasedMs }) => releasedMs <= thenMs);
    for (const { key } of late) this.#flights.delete(key);
    return late.map((flight) => arrived(flight, "timed_out", { isStillNominated: true }));
  }
}

function arrivalOf(flight: Flight, type: string, pod: KubernetesObject): Arrival | null {
  if (type === "deleted" || pod.metadata.uid !== flight.uid || isGone(pod)) return arrived(flight, "gone");
  const placement = placementOf(pod);
  const isStillNominated = looseFields<PodStatus>(pod.status).nominatedNodeName === flight.node;
  if (placement?.bound === true) {
    const { node } = placement;
    const outcome = node === flight.node ? "landed" : "elsewhere";
    return arrived(flight, outcome, { node, isStillNominated: isStillNominated && outcome === "elsewhere" });
  }
  if (!isUnschedulable(pod)) return null;
  const message = conditionsOf(pod).find(({ type: of }) => of === "PodScheduled")?.message ?? null;
  return arrived(flight, "unschedulable", { message, isStillNominated });
}

function arrived(
  flight: Flight,
  outcome: LandingOutcome,
  facts: Partial<Omit<Arrival, "flight" | "outcome">> = {},
): Arrival {
  return { flight, outcome, node: null, message: null, isStillNominated: false, ...facts };
}
