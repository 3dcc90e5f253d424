import type { DispatchRequest, DispatchView } from "../dispatcher.ts";
import type { NodeState, SystemState } from "../system.ts";
import type { CmmacOptions } from "./options.ts";

export interface Shape {
  readonly sites: number;
  readonly nodesPerSite: number;
  readonly services: number;
}

const QUEUE = 8;
const NODE_QUEUE = 6;
const CORES = 2;
const MEMORY_GB = 4;
const CLOUD_QUEUE = 20;
const AHEAD = 3;
/** Scale of deadlines, in multiples of work. */
const DEADLINE = 3;
const UPLINK_SECONDS = 3;
const PER_NODE = 5;
const PER_REMOTE_NODE = 2;

export function localSize({ sites, nodesPerSite, services }: Shape, { sees }: CmmacOptions): number {
  const own = services + 4 + nodesPerSite * PER_NODE;
  return sees === "own-nodes" ? own : own + (sites - 1) * nodesPerSite * PER_REMOTE_NODE;
}

export function globalSize({ sites, nodesPerSite, services }: Shape): number {
  return sites * 2 + sites * nodesPerSite * PER_NODE + 2 + sites + services + 1;
}

/** s_b,t: (i) request, (ii) queue, (iii, iv) own nodes, (v) their number, (vi) path to the cloud. */
export function observeLocally(
  request: DispatchRequest,
  view: DispatchView,
  shape: Shape,
  options: CmmacOptions,
): Float32Array {
  const { state } = view;
  const { service, site } = request;
  const row = new Row(localSize(shape, options));
  addRequest(row, request, state);
  row.add(state.sites[site]!.queueLength / QUEUE);
  for (const node of state.sites[site]!.nodes) {
    const work = options.queues === "length" ? 0 : aheadOf(node, service) / Math.max(1, node.ready[service]!);
    row.add(
      node.queueLength / NODE_QUEUE,
      work / AHEAD,
      node.freeCores / CORES,
      node.freeMemoryGb / MEMORY_GB,
    );
    // Storage is never scarce here.
    row.add(1);
  }
  row.skipTo(localSize(shape, { ...options, sees: "own-nodes" }) - 2);
  row.add(state.sites[site]!.nodes.length / QUEUE);
  row.add((state.network.cloudSeconds + state.sites[site]!.uplinkBacklogSeconds) / 2);
  if (options.sees === "all-nodes")
    for (const node of state.nodes) {
      if (node.site === site) continue;
      const { ahead, freeCores } = view.load(node);
      row.add(ahead / Math.max(1, node.ready[service]!) / AHEAD, freeCores / CORES);
    }
  return row.values;
}

/** s_t, the deciding access point and its request; only for the critic. */
export function observeGlobally(
  request: DispatchRequest | null,
  site: number,
  state: SystemState,
  shape: Shape,
): Float32Array {
  const row = new Row(globalSize(shape));
  for (const { queueLength, uplinkBacklogSeconds } of state.sites)
    row.add(queueLength / QUEUE, uplinkBacklogSeconds / UPLINK_SECONDS);
  for (const node of state.nodes) {
    row.add(node.queueLength / NODE_QUEUE, node.freeCores / CORES, node.freeMemoryGb / MEMORY_GB);
    const service = request?.service;
    row.add(service === undefined ? 0 : Math.min(1, node.ready[service]!));
    row.add(service === undefined ? 0 : (node.waiting[service]! + node.busy[service]!) / AHEAD);
  }
  row.add(state.cloud.queueLength / CLOUD_QUEUE, state.cloud.freeCores / state.cloud.cores);
  row.mark(site, shape.sites);
  if (request !== null) addRequest(row, request, state);
  return row.values;
}

function addRequest(row: Row, { service, leftSeconds }: DispatchRequest, { services }: SystemState): void {
  row.mark(service, services.length);
  row.add(leftSeconds / (DEADLINE * services[service]!.workSeconds));
}

function aheadOf({ waiting, busy, inFlight }: NodeState, service: number): number {
  return waiting[service]! + busy[service]! + inFlight[service]!;
}

class Row {
  readonly values: Float32Array;
  #at = 0;

  constructor(size: number) {
    this.values = new Float32Array(size);
  }

  add(...values: readonly number[]): void {
    for (const value of values) this.values[this.#at++] = value;
  }

  mark(index: number, count: number): void {
    this.values[this.#at + index] = 1;
    this.#at += count;
  }

  skipTo(at: number): void {
    this.#at = at;
  }
}
