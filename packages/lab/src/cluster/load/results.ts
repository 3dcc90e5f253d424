import { Distribution } from "@isochrone/telemetry";
import type { EndToEnd, RangeMs } from "./protocol.ts";

interface Pane {
  readonly startMs: number;
  readonly latency: Distribution;
  readonly lateness: Distribution;
  readonly failures: Map<string, number>;
}

const PANE_MS = 1_000;
const KEPT_PANES = 900;

export const NO_REQUESTS: EndToEnd = {
  count: 0,
  errors: 0,
  p10Ms: null,
  p50Ms: null,
  p90Ms: null,
  p95Ms: null,
  p50RangeMs: null,
  p95RangeMs: null,
  requestsPerSecond: 0,
  sendLateMs: null,
  failure: null,
};

/** Results in panes of one second by planned sending time. */
export class LoadResults {
  readonly #panes: Pane[] = [];
  readonly #startedMs: number;

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  record(plannedMs: number, latencyMs: number, failure: string | null): void {
    const { latency, failures } = this.#pane(Math.floor(plannedMs / PANE_MS) * PANE_MS);
    if (failure !== null) failures.set(failure, (failures.get(failure) ?? 0) + 1);
    else latency.record(latencyMs / 1000);
  }

  sent(plannedMs: number, nowMs: number): void {
    const { lateness } = this.#pane(Math.floor(plannedMs / PANE_MS) * PANE_MS);
    lateness.record(Math.max(0, nowMs - plannedMs) / 1000);
  }

  report(nowMs: number, lastMs: number): EndToEnd {
    const merged = new Distribution();
    const lateness = new Distribution();
    const failures = new Map<string, number>();
    const fromMs = nowMs - lastMs;
    for (const pane of this.#panes) {
      if (pane.startMs + PANE_MS <= fromMs) continue;
      merged.merge(pane.latency);
      lateness.merge(pane.lateness);
      for (const [failure, count] of pane.failures)
        failures.set(failure, (failures.get(failure) ?? 0) + count);
    }
    const errors = [...failures.values()].reduce((sum, count) => sum + count, 0);
    const ms = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);
    const spanMs = Math.max(1, nowMs - Math.max(Math.floor(fromMs / PANE_MS) * PANE_MS, this.#startedMs));
    return {
      count: merged.count,
      errors,
      p10Ms: ms(merged.quantile(0.1)),
      p50Ms: ms(merged.shownQuantile(0.5)),
      p90Ms: ms(merged.shownQuantile(0.9)),
      p95Ms: ms(merged.shownQuantile(0.95)),
      p50RangeMs: rangeOf(merged, 0.5),
      p95RangeMs: rangeOf(merged, 0.95),
      requestsPerSecond: ((merged.count + errors) * 1000) / spanMs,
      sendLateMs: ms(lateness.quantile(0.95)),
      failure: [...failures].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null,
    };
  }

  #pane(startMs: number): Pane {
    const found = this.#panes.find((pane) => pane.startMs === startMs);
    if (found !== undefined) return found;
    const pane = { startMs, latency: new Distribution(), lateness: new Distribution(), failures: new Map() };
    this.#panes.push(pane);
    if (this.#panes.length > KEPT_PANES) this.#panes.shift();
    return pane;
  }
}

/** Two binomial standard errors around the quantile. */
function rangeOf(times: Distribution, quantile: number): RangeMs | null {
  if (times.count === 0) return null;
  const error = 1.96 * Math.sqrt((quantile * (1 - quantile)) / times.count);
  const [low, high] = [
    times.quantile(Math.max(0, quantile - error)),
    times.quantile(Math.min(1, quantile + error)),
  ];
  return low === null || high === null ? null : [low * 1_000, high * 1_000];
}
