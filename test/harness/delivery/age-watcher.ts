import { ascending, nearestRank } from "@isochrone/primitives";
import { setTimeout as delay } from "node:timers/promises";
import type { AggregatorProcess } from "./aggregator-process.ts";

const LOOK_MS = 250;

/** Looks at a replica's graph again and again, and notes how old each link's newest data is. */
export class AgeWatcher {
  readonly #aggregator: AggregatorProcess;
  readonly #ages: number[] = [];
  #stopped = false;
  #running: Promise<void> | null = null;
  #failures = 0;

  constructor(aggregator: AggregatorProcess) {
    this.#aggregator = aggregator;
  }

  /** From when there is a link at all. */
  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<{
    readonly looks: number;
    readonly failures: number;
    readonly p99Ms: number;
    readonly maxMs: number;
  }> {
    this.#stopped = true;
    await this.#running;
    const sorted = ascending(this.#ages);
    const p99Ms = nearestRank(sorted, 0.99) ?? Number.NaN;
    return { looks: sorted.length, failures: this.#failures, p99Ms, maxMs: sorted.at(-1) ?? Number.NaN };
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        const { links } = await this.#aggregator.clusterGraph();
        const nowMs = Date.now();
        for (const { observedAt } of links)
          if (observedAt !== null) this.#ages.push(nowMs - Date.parse(observedAt));
      } catch {
        this.#failures++;
      }
      await delay(LOOK_MS);
    }
  }
}
