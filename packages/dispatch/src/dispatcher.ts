import type { NodeState, ServiceProfile, SystemState } from "./system.ts";

export interface DispatchRequest {
  readonly id: number;
  readonly service: number;
  readonly site: number;
  readonly leftSeconds: number;
}

interface KnownLoad {
  readonly ahead: number;
  readonly freeCores: number;
}

export interface DispatchView {
  readonly state: SystemState;
  load(node: NodeState): KnownLoad;
}

export const CLOUD = null;

export interface DispatchChoice {
  readonly node: number | typeof CLOUD;
  /** Named components of the decision: probabilities, seconds, prices. Empty if nothing was weighed. */
  readonly parts: Readonly<Record<string, number>>;
}

/** Chooses a request's destination. Implementations MUST NOT change the view. */
export interface Dispatcher {
  readonly name: string;
  choose(request: DispatchRequest, view: DispatchView): DispatchChoice;
}

const NO_PARTS = {};

export function chosen(
  node: number | typeof CLOUD,
  parts: DispatchChoice["parts"] = NO_PARTS,
): DispatchChoice {
  return { node, parts };
}

export function hosts(service: number, nodes: readonly NodeState[]): NodeState[] {
  return nodes.filter(({ ready }) => ready[service]! > 0);
}

const CPU_WAIT = 0.4;

/** Expected wait for a replica of the service on a node, as known to the site. */
export function expectedWait(request: DispatchRequest, node: NodeState, view: DispatchView): number {
  const { workSeconds, cores } = view.state.services[request.service]!;
  const replicas = node.ready[request.service]!;
  const { ahead, freeCores } = view.load(node);
  if (ahead < replicas) return freeCores < cores ? CPU_WAIT * workSeconds : 0;
  return ((ahead - replicas + 0.5) / replicas) * workSeconds;
}

export function roundTrip(request: DispatchRequest, node: NodeState, { state }: DispatchView): number {
  return node.site === request.site ? state.network.ownSeconds : state.network.otherSeconds;
}

/** Seconds to the cloud and back, including the uplink's backlog. */
export function cloudTrip({ site, service }: DispatchRequest, { state }: DispatchView): number {
  const { uplinkMbPerSecond, cloudSeconds } = state.network;
  return (
    state.sites[site]!.uplinkBacklogSeconds +
    payloadOf(state.services[service]!, uplinkMbPerSecond) +
    cloudSeconds
  );
}

function payloadOf({ payloadMb }: ServiceProfile, mbPerSecond: number): number {
  return payloadMb / mbPerSecond;
}
