// The port of orchestration, and a draft of a frame's changes that keeps account of what they take.
import type { NodeState, SystemState } from "./system.ts";

export interface FrameView {
  readonly state: SystemState;
  readonly frameSeconds: number;
  /** Requests per second of the last frame, by service. */
  readonly arrivals: readonly number[];
  /** Requests of the last frame that weren't in time, by service. */
  readonly failures: readonly number[];
  /** Part of the replicas that was busy or wanted, by service. */
  readonly utilizations: readonly number[];
  /** Requests per second of the next frame, by service: for those who know rates in advance. */
  readonly upcoming: () => readonly number[];
}

export interface ReplicaChange {
  readonly kind: "add" | "remove";
  readonly service: number;
  readonly node: number;
  readonly reason: string;
}

/** Decides at each frame which replicas begin and end. Implementations MUST NOT change the view. */
export interface Orchestrator {
  readonly name: string;
  /** In the order in which they must be made: what makes room comes first. */
  decide(frame: FrameView): readonly ReplicaChange[];
}

const ROUNDING = 1e-9;

/** Changes of a frame so far; it adds where memory is left and removes what is idle. */
export class Draft {
  readonly changes: ReplicaChange[] = [];
  readonly #state: SystemState;
  readonly #freeGb: Float64Array;
  readonly #added: Int32Array;
  readonly #removed: Int32Array;

  constructor(state: SystemState) {
    const size = state.nodes.length * state.services.length;
    this.#state = state;
    this.#freeGb = Float64Array.from(state.nodes, ({ freeMemoryGb }) => freeMemoryGb);
    this.#added = new Int32Array(size);
    this.#removed = new Int32Array(size);
  }

  freeGb(node: NodeState): number {
    return this.#freeGb[node.index]!;
  }

  /** Replicas of a service on a node after the changes, those that start included. */
  replicas(node: NodeState, service: number): number {
    const at = this.#at(node, service);
    return node.ready[service]! + node.starting[service]! + this.#added[at]! - this.#removed[at]!;
  }

  hasRoom(node: NodeState, service: number): boolean {
    return this.freeGb(node) >= this.#state.services[service]!.memoryGb - ROUNDING;
  }

  add(node: NodeState, service: number, reason: string): boolean {
    if (!this.hasRoom(node, service)) return false;
    this.#freeGb[node.index]! -= this.#state.services[service]!.memoryGb;
    this.#added[this.#at(node, service)]!++;
    this.changes.push({ kind: "add", service, node: node.index, reason });
    return true;
  }

  /** Ready replicas that are idle, and not the last one for requests that wait or come. */
  removable(node: NodeState, service: number): number {
    const removed = this.#removed[this.#at(node, service)]!;
    const idle = node.ready[service]! - node.busy[service]! - removed;
    const isAwaited = node.waiting[service]! + node.inFlight[service]! > 0;
    return isAwaited ? Math.min(idle, node.ready[service]! - removed - 1) : idle;
  }

  remove(node: NodeState, service: number, reason: string): boolean {
    if (this.removable(node, service) <= 0) return false;
    this.#freeGb[node.index]! += this.#state.services[service]!.memoryGb;
    this.#removed[this.#at(node, service)]!++;
    this.changes.push({ kind: "remove", service, node: node.index, reason });
    return true;
  }

  #at(node: NodeState, service: number): number {
    return node.index * this.#state.services.length + service;
  }
}

/** Replicas of each service, those that start included. */
export function replicaCounts({ services, nodes }: SystemState): Int32Array {
  return Int32Array.from(services, (_, service) =>
    nodes.reduce((sum, { ready, starting }) => sum + ready[service]! + starting[service]!, 0),
  );
}
