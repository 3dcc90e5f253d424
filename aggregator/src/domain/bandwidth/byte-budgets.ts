const HOUR_MS = 3_600_000;

interface Charge {
  readonly atMs: number;
  readonly bytes: number;
}

/**
 * Bytes per node and hour: any hour, not that of the clock. Holds what was charged within the last hour and
 * nothing else.
 */
export class ByteBudgets {
  readonly #bytesPerHour: number;
  /** Longest untouched node first; charges oldest first. */
  readonly #charges = new Map<string, Charge[]>();

  constructor(bytesPerHour: number) {
    this.#bytesPerHour = bytesPerHour;
  }

  /**
   * When so many more bytes fit into the hour before: in the past if they do now, +Infinity if they never
   * will.
   */
  freeAt(node: string, bytes: number, nowMs: number): number {
    if (bytes > this.#bytesPerHour) return Number.POSITIVE_INFINITY;
    const charges = this.#recent(node, nowMs);
    let spent = charges.reduce((sum, charge) => sum + charge.bytes, 0);
    let freeMs = Number.NEGATIVE_INFINITY;
    for (const charge of charges) {
      if (spent + bytes <= this.#bytesPerHour) break;
      spent -= charge.bytes;
      freeMs = charge.atMs + HOUR_MS;
    }
    return freeMs;
  }

  charge(node: string, bytes: number, nowMs: number): void {
    const charges = this.#recent(node, nowMs);
    this.#charges.delete(node);
    this.#charges.set(node, [...charges, { atMs: nowMs, bytes }]);
    for (const [other, theirs] of this.#charges) {
      if (theirs.at(-1)!.atMs > nowMs - HOUR_MS) return;
      this.#charges.delete(other);
    }
  }

  /** Nodes that something is remembered of. */
  get size(): number {
    return this.#charges.size;
  }

  #recent(node: string, nowMs: number): Charge[] {
    return (this.#charges.get(node) ?? []).filter(({ atMs }) => atMs > nowMs - HOUR_MS);
  }
}
