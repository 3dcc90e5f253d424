import type { Change, PointCluster } from "../scenario/model.ts";

/** The cluster after changes: running nodes and current round trips. */
export class ClusterState {
  readonly #cluster: PointCluster;
  readonly #rttMs: number[][];
  readonly #down = new Set<number>();

  constructor(cluster: PointCluster) {
    this.#cluster = cluster;
    this.#rttMs = cluster.rttMs.map((row) => [...row]);
  }

  get rttMs(): readonly (readonly number[])[] {
    return this.#rttMs;
  }

  /** @throws RangeError for an unknown node */
  index(node: string): number {
    const index = this.#cluster.nodes.findIndex(({ name }) => name === node);
    if (index < 0) throw new RangeError(`a node must be one of the cluster's, got ${node}`);
    return index;
  }

  isUp(node: number): boolean {
    return !this.#down.has(node);
  }

  apply(change: Change): void {
    if (change.kind === "node-down") this.#down.add(this.index(change.node));
    else if (change.kind === "region-latency") this.#multiply(change.region, change.factor);
  }

  present(): PointCluster {
    const up = this.#cluster.nodes.map((_, index) => index).filter((index) => this.isUp(index));
    return {
      nodes: up.map((index) => this.#cluster.nodes[index]!),
      rttMs: up.map((i) => up.map((j) => this.#rttMs[i]![j]!)),
    };
  }

  #multiply(region: string, factor: number): void {
    const inside = this.#cluster.nodes.map((node) => node.region === region);
    for (const [i, row] of this.#rttMs.entries())
      for (const j of row.keys()) if (inside[i] !== inside[j]) row[j]! *= factor;
  }
}
