// Reports cut floors to owners of AppGroups: one Event per AppGroup, and a metric.
import { keyOf, type EventRecorder, type KubernetesObject } from "@isochrone/kubernetes";
import { LINK_SHARES } from "@isochrone/streams";
import { FLOW_PLAN_BOUNDS } from "@isochrone/topology";
import { FLOOR_BOUNDS } from "./domain/floors.ts";
import type { AddressedFlow } from "./domain/flow-plans.ts";
import type { StreamMetrics } from "./metrics.ts";

export type FloorEvents = Pick<EventRecorder, "event">;

interface FloorNewsOptions {
  readonly events: FloorEvents;
  readonly metrics: StreamMetrics;
}

interface CutFloors {
  readonly groups: readonly {
    readonly group: KubernetesObject;
    readonly pairs: number;
    readonly planned: number;
  }[];
  readonly cut: readonly AddressedFlow[];
  readonly withoutPlace: readonly AddressedFlow[];
}

/** Bound on Events per namespace. The metric counts all. */
const MAX_TOLD_OF_NAMESPACE = 20;

export class FloorNews {
  readonly #options: FloorNewsOptions;
  #told = new Map<string, string>();

  constructor(options: FloorNewsOptions) {
    this.#options = options;
  }

  tell({ groups, cut, withoutPlace }: CutFloors): void {
    const { events, metrics } = this.#options;
    const [lowered, left] = [byGroup(cut), byGroup(withoutPlace)];
    const told = new Map<string, string>();
    const toldOf = new Map<string, number>();
    let pairsCut = 0;
    for (const { group, pairs, planned } of groups) {
      const key = keyOf(group);
      pairsCut += pairs - planned;
      const note = noteOf(pairs, {
        pairs: pairs - planned,
        places: left.get(key) ?? [],
        links: lowered.get(key) ?? [],
      });
      const { namespace = "default" } = group.metadata;
      const before = toldOf.get(namespace) ?? 0;
      if (note === null || before >= MAX_TOLD_OF_NAMESPACE) continue;
      toldOf.set(namespace, before + 1);
      told.set(key, note);
      if (this.#told.get(key) !== note)
        events.event(group, { type: "Warning", reason: "FloorsCut", action: "PlanFlows", note });
    }
    this.#told = told;
    metrics.cutFlows.set({ reason: "pairs" }, pairsCut);
    metrics.cutFlows.set({ reason: "places" }, withoutPlace.length);
    metrics.cutFlows.set({ reason: "link_share" }, cut.length);
  }

  close(): void {
    this.#options.metrics.cutFlows.reset();
  }
}

function byGroup(flows: readonly AddressedFlow[]): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const { id, owner } of flows) {
    if (owner.kind !== "AppGroup") continue;
    const key = `${owner.namespace}/${owner.name}`;
    const pair = id.slice(key.length + 1);
    const others = names.get(key);
    if (others === undefined) names.set(key, [pair]);
    else others.push(pair);
  }
  return names;
}

interface Cuts {
  readonly pairs: number;
  readonly places: readonly string[];
  readonly links: readonly string[];
}

function noteOf(declared: number, { pairs, places, links }: Cuts): string | null {
  const of = `of ${declared} pairs of pods`;
  const notes: string[] = [];
  if (pairs > 0)
    notes.push(
      `${pairs} ${of} have no floor: the namespaces of the cluster share ${FLOOR_BOUNDS.pairs} pairs`,
    );
  if (places.length > 0)
    notes.push(
      `${places.length} ${of} have no floor, such as ${places[0]!}: namespaces share ` +
        `${FLOW_PLAN_BOUNDS.flowsOfNode} flows and ${FLOW_PLAN_BOUNDS.neighboursOfNode} neighbours of a node`,
    );
  if (links.length > 0)
    notes.push(
      `${links.length} ${of} have less than minBandwidth, such as ${links[0]!}: the floors of a namespace ` +
        `take at most ${LINK_SHARES.namespace * 100} % of a link, those of all namespaces ${LINK_SHARES.all * 100} %`,
    );
  return notes.length === 0 ? null : notes.join("; ");
}
