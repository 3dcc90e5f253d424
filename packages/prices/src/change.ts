// Another placement or another routing of the workloads that there are.
import { routingScopes, type Channel, type PodPlacement, type RoutingScope } from "@isochrone/topology";

/** What differs from the graphs. */
export interface Change {
  /** By pod (namespace/name), the node that it runs on instead. */
  readonly moves: ReadonlyMap<string, string>;
  /** By workload (namespace/name), where its callers prefer a nearer replica instead. */
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

/** Null: the callee's traffic is spread over all of its replicas. */
export function scopesOf(
  change: Change,
  { namespace, name }: Workload,
  channel: Channel,
): readonly RoutingScope[] | null {
  return change.routing.get(`${namespace}/${name}`) ?? routingScopes(channel);
}
