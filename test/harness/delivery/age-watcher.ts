import { ascending, nearestRank } from "@isochrone/primitives";
import { setTimeout as delay } from "node:timers/promises";
import type { AggregatorProcess } from "./aggregator-process.ts";

const LOOK_MS = 250;

export class AgeWatcher {
  readonly #aggregator: AggregatorProcess;
  readonly #ages: number[] = [];
  #stopped = false;
  #running: Promise<void> | null = null;
  #failures = 0;
  #hasAll = false;
  /** Minimum over samples after the first with all links. */
  #fewestLinks = Number.POSITIVE_INFINITY;

  readonly #links: number;

  constructor(aggregator: AggregatorProcess, links: number) {
    this.#aggregator = aggregator;
    this.#links = links;
  }

  /** Starts counting at the first link. */
  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<{
    readonly looks: number;
    readonly failures: number;
    readonly p99Ms: number;
    readonly maxMs: number;
    /** Minimum number of links, from the first complete sample on. */
    readonly fewestLinks: number;
  }> {
    this.#stopped = true;
    await this.#running;
    const sorted = ascending(this.#ages);
    const p99Ms = nearestRank(sorted, 0.99) ?? Number.NaN;
    return {
      looks: sorted.length,
      failures: this.#failures,
      p99Ms,
      maxMs: sorted.at(-1) ?? Number.NaN,
      fewestLinks: this.#fewestLinks,
    };
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        const { links } = await this.#aggregator.clusterGraph();
        const nowMs = Date.now();
        if (links.length >= this.#links) this.#hasAll = true;
        if (this.#hasAll) this.#fewestLinks = Math.min(this.#fewestLinks, links.length);
        for (const { observedAt } of links)
          if (observedAt !== null) this.#ages.push(nowMs - Date.parse(observedAt));
      } catch {
        this.#failures++;
      }
      await delay(LOOK_MS);
    }
  }
}
