import { Distribution } from "@isochrone/telemetry";
import type { EndToEnd } from "./protocol.ts";

interface Pane {
  readonly startMs: number;
  readonly latency: Distribution;
  errors: number;
}

const PANE_MS = 1_000;
const KEPT_PANES = 900;

/** Results of requests in panes of one second, by the time at which each was planned to be sent. */
export class LoadResults {
  readonly #panes: Pane[] = [];
  readonly #startedMs: number;

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  record(plannedMs: number, latencyMs: number, ok: boolean): void {
    const pane = this.#pane(Math.floor(plannedMs / PANE_MS) * PANE_MS);
    if (!ok || !pane.latency.record(latencyMs / 1000)) pane.errors++;
  }

  /** Figures of the requests planned in the last `lastMs`. */
  report(nowMs: number, lastMs: number): EndToEnd {
    const merged = new Distribution();
    const fromMs = nowMs - lastMs;
    let errors = 0;
    for (const pane of this.#panes) {
      if (pane.startMs + PANE_MS <= fromMs) continue;
      merged.merge(pane.latency);
      errors += pane.errors;
    }
    const ms = (quantile: number): number | null => {
      const seconds = merged.quantile(quantile);
      return seconds === null ? null : seconds * 1000;
    };
    const spanMs = Math.max(1, nowMs - Math.max(Math.floor(fromMs / PANE_MS) * PANE_MS, this.#startedMs));
    return {
      count: merged.count,
      errors,
      p50Ms: ms(0.5),
      p90Ms: ms(0.9),
      p95Ms: ms(0.95),
      requestsPerSecond: ((merged.count + errors) * 1000) / spanMs,
    };
  }

  #pane(startMs: number): Pane {
    const found = this.#panes.find((pane) => pane.startMs === startMs);
    if (found !== undefined) return found;
    const pane = { startMs, latency: new Distribution(), errors: 0 };
    this.#panes.push(pane);
    if (this.#panes.length > KEPT_PANES) this.#panes.shift();
    return pane;
  }
}
