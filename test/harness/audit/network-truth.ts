// The emulated network over time, as its matrix was polled.

/** One state of the emulator; null: cut. */
interface NetworkState {
  readonly atMs: number;
  readonly nodes: readonly string[];
  readonly rttMs: readonly (readonly (number | null)[])[];
}

/** Round trips that a pair had in a time; whether it was cut in it, and whether it was always cut. */
interface PairRange {
  readonly minMs: number;
  readonly maxMs: number;
  readonly wasCut: boolean;
  readonly wasWhole: boolean;
}

export class NetworkTruth {
  readonly #states: NetworkState[] = [];
  /** Loss that somebody set, by pair; the matrix does not tell it. */
  readonly #lossy = new Map<string, number>();

  /** Only changes are kept. */
  take(state: NetworkState): void {
    const last = this.#states.at(-1);
    if (last !== undefined && JSON.stringify(last.rttMs) === JSON.stringify(state.rttMs)) return;
    this.#states.push(state);
  }

  setLoss(a: string, b: string, lossRatio: number): void {
    // The most that the pair ever had: windows remember it for a while.
    for (const key of [`${a} ${b}`, `${b} ${a}`])
      this.#lossy.set(key, Math.max(lossRatio, this.#lossy.get(key) ?? 0));
  }

  mostLoss(a: string, b: string): number {
    return this.#lossy.get(`${a} ${b}`) ?? 0;
  }

  /** Null: nothing is known of the time before the first poll, or of such nodes. */
  range(a: string, b: string, fromMs: number, toMs: number): PairRange | null {
    const found = this.#during(fromMs, toMs).flatMap(({ nodes, rttMs }) => {
      const value = rttMs[nodes.indexOf(a)]?.[nodes.indexOf(b)];
      return value === undefined ? [] : [value];
    });
    if (found.length === 0) return null;
    const known = found.filter((ms) => ms !== null);
    return {
      minMs: Math.min(...known),
      maxMs: Math.max(...known),
      wasCut: known.length < found.length,
      wasWhole: known.length > 0,
    };
  }

  /** @returns null: cut, or not known */
  rttMs(a: string, b: string, atMs: number): number | null {
    if (a === b) return 0;
    const state = this.#states.findLast((each) => each.atMs <= atMs) ?? this.#states[0];
    return state?.rttMs[state.nodes.indexOf(a)]?.[state.nodes.indexOf(b)] ?? null;
  }

  /** When the emulator last changed before that time; null: never since it was first seen. */
  changedBefore(atMs: number): number | null {
    return this.#states.findLast((state, index) => index > 0 && state.atMs <= atMs)?.atMs ?? null;
  }

  #during(fromMs: number, toMs: number): NetworkState[] {
    return this.#states.filter(
      ({ atMs }, index) => atMs <= toMs && (this.#states[index + 1]?.atMs ?? Infinity) > fromMs,
    );
  }
}
