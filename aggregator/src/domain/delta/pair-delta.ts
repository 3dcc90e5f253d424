import type { Transport } from "../bandwidth/bandwidth.ts";
import type { PointTime } from "../point-time.ts";
import type { PairTarget } from "../ingest/sink-tables.ts";
import type { Touched } from "./touched.ts";

/** One burst. */
interface BurstPart {
  readonly transport: Transport;
  readonly eventMs: number;
  readonly bitsPerSecond: number;
}

/** Bursts of a pair: of each transport and part of the capacity window the newest one and the best one. */
export interface PairContribution {
  readonly source: string;
  readonly target: string;
  readonly bursts: readonly BurstPart[];
}

interface Extremes {
  newest: BurstPart;
  best: BurstPart;
}

/** Collects the bursts of one pair. */
export class PairDelta implements PairTarget {
  readonly source: string;
  readonly target: string;
  readonly #capacityPaneMs: number;
  readonly #touched: Touched<PairDelta>;
  #bursts = new Map<string, Extremes>();
  live = true;
  idleSinceMs = Number.NEGATIVE_INFINITY;

  constructor(source: string, target: string, capacityPaneMs: number, touched: Touched<PairDelta>) {
    this.source = source;
    this.target = target;
    this.#capacityPaneMs = capacityPaneMs;
    this.#touched = touched;
  }

  take(transport: Transport, { eventMs }: PointTime, bitsPerSecond: number): void {
    if (this.#bursts.size === 0) this.#touched.add(this);
    const burst = { transport, eventMs, bitsPerSecond };
    const id = `${transport} ${Math.floor(eventMs / this.#capacityPaneMs)}`;
    const known = this.#bursts.get(id);
    if (known === undefined) {
      this.#bursts.set(id, { newest: burst, best: burst });
      return;
    }
    if (eventMs >= known.newest.eventMs) known.newest = burst;
    if (bitsPerSecond > known.best.bitsPerSecond) known.best = burst;
  }

  /** What was added since the last time. */
  drain(): PairContribution {
    const bursts = [...this.#bursts.values()].flatMap(({ newest, best }) =>
      newest === best ? [newest] : [best, newest],
    );
    this.#bursts = new Map();
    return { source: this.source, target: this.target, bursts };
  }
}
