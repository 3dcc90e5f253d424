// Pods released by plan, until their outcome is known.
import { conditionsOf, keyOf } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { KubernetesObject, PodStatus } from "@isochrone/kubernetes";
import { isGone, isUnschedulable, placementOf } from "../adapters/observed-pod.ts";
import type { LandingOutcome } from "./metrics.ts";

export interface Flight {
  readonly key: string;
  readonly uid: string;
  readonly node: string;
  readonly workflow: string;
  /** Null for a flight of a previous process. */
  readonly decision: string | null;
  readonly releasedMs: number;
}

export interface Arrival {
  readonly flight: Flight;
  readonly outcome: LandingOutcome;
  readonly node: string | null;
  readonly message: string | null;
  readonly isStillNominated: boolean;
}

export class Landings {
  readonly #flights = new Map<string, Flight>();

  get size(): number {
    return this.#flights.size;
  }

  add(flight: Flight): void {
    this.#flights.set(flight.key, flight);
  }

  has(podKey: string): boolean {
    return this.#flights.has(podKey);
  }

  remove(podKey: string): void {
    this.#flights.delete(podKey);
  }

  pending(podKeys: Iterable<string>): string[] {
    return [...podKeys].filter((key) => this.#flights.has(key));
  }

  /** Applies a watch event; a returned arrival ends the flight. Null if it goes on, or isn't awaited. */
  take(change: { readonly type: string; readonly object: KubernetesObject }): Arrival | null {
    const key = keyOf(change.object);
    const flight = this.#flights.get(key);
    if (flight === undefined) return null;
    const arrival = arrivalOf(flight, change.type, change.object);
    if (arrival !== null) this.#flights.delete(key);
    return arrival;
  }

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
