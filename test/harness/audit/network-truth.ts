/** A state of the emulator. Null: cut. */
interface NetworkState {
  readonly atMs: number;
  readonly nodes: readonly string[];
  readonly rttMs: readonly (readonly (number | null)[])[];
}

interface PairRange {
  readonly minMs: number;
  readonly maxMs: number;
  readonly wasCut: boolean;
  readonly wasWhole: boolean;
}

export class NetworkTruth {
  readonly #states: NetworkState[] = [];
  /** Injected loss by pair. The matrix does not show it. */
  readonly #lossy = new Map<string, number>();

  take(state: NetworkState): void {
    const last = this.#states.at(-1);
    if (last !== undefined && JSON.stringify(last.rttMs) === JSON.stringify(state.rttMs)) return;
    this.#states.push(state);
  }

  setLoss(a: string, b: string, lossRatio: number): void {
    // Use the maximum loss that the pair ever had, because windows keep it for a while.
    for (const key of [`${a} ${b}`, `${b} ${a}`])
      this.#lossy.set(key, Math.max(lossRatio, this.#lossy.get(key) ?? 0));
  }

  mostLoss(a: string, b: string): number {
    return this.#lossy.get(`${a} ${b}`) ?? 0;
  }

  /** Returns null before the first poll or for unknown nodes. */
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

  /** @returns null if the pair is cut or unknown */
  rttMs(a: string, b: string, atMs: number): number | null {
    if (a === b) return 0;
    const state = this.#states.findLast((each) => each.atMs <= atMs) ?? this.#states[0];
    return state?.rttMs[state.nodes.indexOf(a)]?.[state.nodes.indexOf(b)] ?? null;
  }

  /** Time of the last change of the emulator before `atMs`. Null: none since the first poll. */
  changedBefore(atMs: number): number | null {
    return this.#states.findLast((state, index) => index > 0 && state.atMs <= atMs)?.atMs ?? null;
  }

  #during(fromMs: number, toMs: number): NetworkState[] {
    return this.#states.filter(
      ({ atMs }, index) => atMs <= toMs && (this.#states[index + 1]?.atMs ?? Infinity) > fromMs,
    );
  }
}
