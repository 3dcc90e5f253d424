import type { ClusterGraph } from "@isochrone/topology";

interface RejectedRows {
  readonly names: readonly string[];
  /** Node id by row; -1: the graph lacks the node. */
  readonly ids: Int32Array;
  readonly graph: ClusterGraph;
  /** Per row; 1: rejected. */
  readonly flags: Uint8Array;
  readonly reason: (row: number) => string;
}

/** Words reasons on access: eager sentences for thousands of nodes would cost more than the votes. */
export class RejectedNodes implements ReadonlyMap<string, string> {
  readonly size: number;
  readonly #rows: RejectedRows;
  /** Row + 1 of each rejected node id. */
  readonly #rowOf: Int32Array;
  readonly #strangers = new Map<string, number>();

  constructor(rows: RejectedRows) {
    const { names, ids, flags, graph } = rows;
    this.#rows = rows;
    this.#rowOf = new Int32Array(graph.nodes.length);
    let size = 0;
    for (let row = 0; row < flags.length; row++) {
      if (flags[row] === 0) continue;
      size++;
      const id = ids[row]!;
      if (id < 0) this.#strangers.set(names[row]!, row);
      else this.#rowOf[id] = row + 1;
    }
    this.size = size;
  }

  get(name: string): string | undefined {
    const row = this.#row(name);
    return row < 0 ? undefined : this.#rows.reason(row);
  }

  has(name: string): boolean {
    return this.#row(name) >= 0;
  }

  forEach(visit: (reason: string, name: string, map: ReadonlyMap<string, string>) => void): void {
    for (const [name, reason] of this) visit(reason, name, this);
  }

  *entries(): MapIterator<[string, string]> {
    const { names, reason } = this.#rows;
    for (const row of this.#flagged()) yield [names[row]!, reason(row)];
    return undefined;
  }

  *keys(): MapIterator<string> {
    for (const row of this.#flagged()) yield this.#rows.names[row]!;
    return undefined;
  }

  *values(): MapIterator<string> {
    for (const row of this.#flagged()) yield this.#rows.reason(row);
    return undefined;
  }

  [Symbol.iterator](): MapIterator<[string, string]> {
    return this.entries();
  }

  *#flagged(): Generator<number> {
    const { flags } = this.#rows;
    for (let row = 0; row < flags.length; row++) if (flags[row] === 1) yield row;
  }

  #row(name: string): number {
    const id = this.#rows.graph.idOf(name);
    return id < 0 ? (this.#strangers.get(name) ?? -1) : this.#rowOf[id]! - 1;
  }
}
