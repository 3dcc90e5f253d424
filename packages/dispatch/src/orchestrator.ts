import type { NodeState, SystemState } from "./system.ts";

export interface FrameView {
  readonly state: SystemState;
  readonly frameSeconds: number;
  readonly arrivals: readonly number[];
  readonly failures: readonly number[];
  /** Share of replicas that was busy or requested, by service. */
  readonly utilizations: readonly number[];
  /** Requests/s of the next frame, by service; for policies that know rates in advance. */
  readonly upcoming: () => readonly number[];
}

export interface ReplicaChange {
  readonly kind: "add" | "remove";
  readonly service: number;
  readonly node: number;
  readonly reason: string;
}

/** Chooses the replicas to start and stop each frame. Implementations MUST NOT change the view. */
export interface Orchestrator {
  readonly name: string;
  decide(frame: FrameView): readonly ReplicaChange[];
}

const ROUNDING = 1e-9;

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

export function replicaCounts({ services, nodes }: SystemState): Int32Array {
  return Int32Array.from(services, (_, service) =>
    nodes.reduce((sum, { ready, starting }) => sum + ready[service]! + starting[service]!, 0),
  );
}
