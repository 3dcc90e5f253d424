// A hypothetical placement or routing of existing workloads.
import { routingScopes, type Channel, type PodPlacement, type RoutingScope } from "@isochrone/topology";

export interface Change {
  readonly moves: ReadonlyMap<string, string>;
  /** New routing preference of callers, by workload (namespace/name). */
  readonly routing: ReadonlyMap<string, readonly RoutingScope[]>;
}

export const NO_CHANGE: Change = { moves: new Map(), routing: new Map() };

interface Workload {
  readonly namespace: string;
  readonly name: string;
}

export function nodeOf(change: Change, { namespace }: Workload, { name, node }: PodPlacement): string | null {
  return change.moves.size === 0 ? node : (change.moves.get(`${namespace}/${name}`) ?? node);
}

export function scopesOf(
  change: Change,
  { namespace, name }: Workload,
  channel: Channel,
): readonly RoutingScope[] | null {
  return change.routing.get(`${namespace}/${name}`) ?? routingScopes(channel);
}
