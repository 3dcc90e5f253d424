import type { NodeState } from "./system.ts";

/** Load of endpoints as a site knows it: reports plus own requests since, so as not to flood idle ones. */
export class LoadTable {
  readonly #services: number;
  readonly #ahead: Float64Array;
  readonly #freeCores: Float64Array;

  constructor(nodes: readonly NodeState[], services: number) {
    this.#services = services;
    this.#ahead = new Float64Array(nodes.length * services);
    this.#freeCores = Float64Array.from(nodes, ({ cores }) => cores);
  }

  load(node: NodeState, service: number): { readonly ahead: number; readonly freeCores: number } {
    return { ahead: this.#ahead[this.#at(node, service)]!, freeCores: this.#freeCores[node.index]! };
  }

  sent(node: NodeState, service: number): void {
    this.#ahead[this.#at(node, service)]!++;
  }

  ended(node: NodeState, service: number): void {
    const at = this.#at(node, service);
    this.#ahead[at] = Math.max(0, this.#ahead[at]! - 1);
  }

  reported(node: NodeState, service: number): void {
    this.#ahead[this.#at(node, service)] =
      node.waiting[service]! + node.busy[service]! + node.inFlight[service]!;
    this.#freeCores[node.index] = node.freeCores;
  }

  #at(node: NodeState, service: number): number {
    return node.index * this.#services + service;
  }
}
