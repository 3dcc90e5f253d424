const HOUR_MS = 3_600_000;

interface Charge {
  readonly atMs: number;
  readonly bytes: number;
}

/** Byte budget per node for any period of one hour. Holds the charges of the last hour only. */
export class ByteBudgets {
  readonly #bytesPerHour: number;
  /** Least recently charged node first; charges oldest first. */
  readonly #charges = new Map<string, Charge[]>();

  constructor(bytesPerHour: number) {
    this.#bytesPerHour = bytesPerHour;
  }

  /** Earliest time for the bytes: up to `nowMs` if they fit now, +Infinity if they never will. */
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

  get size(): number {
    return this.#charges.size;
  }

  #recent(node: string, nowMs: number): Charge[] {
    return (this.#charges.get(node) ?? []).filter(({ atMs }) => atMs > nowMs - HOUR_MS);
  }
}
