import { Distribution, Window } from "@isochrone/telemetry";
import { RECORD_DEPTH_MS, type TrafficRecord } from "../record.ts";

const PANE_MS = 1000;
/** A later answer belongs to no exchange. */
const EXCHANGE_EXPIRY_MS = 5000;

interface Pane {
  readonly exchangeSeconds: Distribution;
  forwarded: number;
  dropped: number;
}

export interface OpenExchange {
  readonly spentMs: number;
  readonly releasedMs: number;
}

export function isExpired(exchange: OpenExchange, nowMs: number): boolean {
  return nowMs - exchange.releasedMs > EXCHANGE_EXPIRY_MS;
}

/** Traffic of one protocol of an ordered pair, in panes of 1 s over 120 s. */
export class TrafficLog {
  readonly #window = new Window<Pane>({
    paneMs: PANE_MS,
    panes: RECORD_DEPTH_MS / PANE_MS,
    create: () => ({ exchangeSeconds: new Distribution(), forwarded: 0, dropped: 0 }),
    merge: (into, from) => {
      into.exchangeSeconds.merge(from.exchangeSeconds);
      into.forwarded += from.forwarded;
      into.dropped += from.dropped;
    },
  });

  forwarded(nowMs: number): void {
    this.#pane(nowMs).forwarded++;
  }

  dropped(nowMs: number, count = 1): void {
    this.#pane(nowMs).dropped += count;
  }

  exchange(spentMs: number, nowMs: number): void {
    this.#pane(nowMs).exchangeSeconds.record(spentMs / 1000);
  }

  read(nowMs: number, lastMs: number): TrafficRecord | null {
    const pane = this.#window.read(nowMs, { panes: Math.ceil(lastMs / PANE_MS) });
    if (pane === null) return null;
    const { p50, p90 } = pane.exchangeSeconds.percentiles();
    return {
      count: pane.exchangeSeconds.count,
      p50Ms: toMs(p50),
      p90Ms: toMs(p90),
      meanMs: toMs(pane.exchangeSeconds.mean),
      forwarded: pane.forwarded,
      dropped: pane.dropped,
    };
  }

  #pane(nowMs: number): Pane {
    return this.#window.pane(nowMs, nowMs)!;
  }
}

export const NO_TRAFFIC: TrafficRecord = {
  count: 0,
  p50Ms: null,
  p90Ms: null,
  meanMs: null,
  forwarded: 0,
  dropped: 0,
};

function toMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}
