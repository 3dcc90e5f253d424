// The port of request dispatch.
import type { NodeState, ServiceProfile, SystemState } from "./system.ts";

export interface DispatchRequest {
  readonly id: number;
  readonly service: number;
  /** The site whose access point it reached. */
  readonly site: number;
  /** Until its deadline: a duration, never a time of day. */
  readonly leftSeconds: number;
}

/** What a site knows of a service on a node; how fresh it is depends on where it comes from. */
interface KnownLoad {
  /** Requests that are there or on their way. */
  readonly ahead: number;
  readonly freeCores: number;
}

export interface DispatchView {
  readonly state: SystemState;
  /** What the request's site knows of its service on a node. */
  load(node: NodeState): KnownLoad;
}

/** The cloud has no node. */
export const CLOUD = null;

export interface DispatchChoice {
  readonly node: number | typeof CLOUD;
  /** What decided, by name: probabilities, seconds, prices. Empty where nothing was weighed. */
  readonly parts: Readonly<Record<string, number>>;
}

/** Chooses where a request goes. Implementations MUST NOT change the view. */
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

/** Nodes with a ready replica of the service. */
export function hosts(service: number, nodes: readonly NodeState[]): NodeState[] {
  return nodes.filter(({ ready }) => ready[service]! > 0);
}

/** A replica that waits for the CPU of its node, in times of its work. */
const CPU_WAIT = 0.4;

/** How long a newcomer waits for a replica of the service on a node, as far as the site knows. */
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

/** Seconds to the cloud and back, behind what the uplink still sends. */
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
