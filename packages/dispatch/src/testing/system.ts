import type { DispatchRequest, DispatchView } from "../dispatcher.ts";
import type { FrameView } from "../orchestrator.ts";
import type { NodeState, ServiceProfile, SystemState } from "../system.ts";

interface NodeSpec {
  readonly site?: number;
  readonly cores?: number;
  readonly memoryGb?: number;
  readonly freeCores?: number;
  readonly ready?: readonly number[];
  readonly busy?: readonly number[];
  readonly waiting?: readonly number[];
  readonly inFlight?: readonly number[];
  readonly cached?: readonly number[];
}

export interface SystemSpec {
  readonly services?: readonly Partial<ServiceProfile>[];
  readonly nodes: readonly NodeSpec[];
  readonly sites?: number;
  readonly uplinkBacklogSeconds?: number;
}

const SERVICE: ServiceProfile = { cores: 1, memoryGb: 1, workSeconds: 1, payloadMb: 1, imageMb: 100 };

export function system(spec: SystemSpec): SystemState {
  const services = (spec.services ?? [{}]).map((one) => ({ ...SERVICE, ...one }));
  const nodes = spec.nodes.map((node, index) => nodeOf(node, index, services));
  const count = spec.sites ?? Math.max(...nodes.map(({ site }) => site)) + 1;
  return {
    services,
    nodes,
    sites: Array.from({ length: count }, (_, site) => ({
      nodes: nodes.filter((node) => node.site === site),
      queueLength: 0,
      uplinkBacklogSeconds: spec.uplinkBacklogSeconds ?? 0,
    })),
    cloud: { cores: 60, freeCores: 60, queueLength: 0 },
    network: { ownSeconds: 0.002, otherSeconds: 0.01, cloudSeconds: 0.15, uplinkMbPerSecond: 1.25 },
  };
}

function nodeOf(spec: NodeSpec, index: number, services: readonly ServiceProfile[]): NodeState {
  const none = services.map(() => 0);
  const { ready = none, busy = none, waiting = none, inFlight = none, cached = none } = spec;
  const { site = 0, cores = 2, memoryGb = 4 } = spec;
  const used = ready.reduce((sum, count, service) => sum + count * services[service]!.memoryGb, 0);
  return {
    index,
    site,
    cores,
    memoryGb,
    freeCores: spec.freeCores ?? cores,
    freeMemoryGb: memoryGb - used,
    ready,
    starting: none,
    busy,
    waiting,
    inFlight,
    cached,
    queueLength: waiting.reduce((sum, count) => sum + count, 0),
  };
}

export function viewOf(state: SystemState, service = 0): DispatchView {
  return {
    state,
    load: ({ waiting, busy, inFlight, freeCores }) => ({
      ahead: waiting[service]! + busy[service]! + inFlight[service]!,
      freeCores,
    }),
  };
}

export function request(leftSeconds: number, over: Partial<DispatchRequest> = {}): DispatchRequest {
  return { id: 1, service: 0, site: 0, leftSeconds, ...over };
}

export function frame(state: SystemState, over: Partial<FrameView> = {}): FrameView {
  const none = state.services.map(() => 0);
  return {
    state,
    frameSeconds: 25,
    arrivals: none,
    failures: none,
    utilizations: none,
    upcoming: () => none,
    ...over,
  };
}
