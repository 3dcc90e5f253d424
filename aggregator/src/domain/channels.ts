import { spreadOverPanes, type Increment } from "@isochrone/telemetry";
import { Coverage } from "./coverage.ts";
import { SumPanes } from "./sum-panes.ts";
import { panesOf, windowStartMs, type WindowName, type WindowShape } from "./window-shape.ts";

/**
 * Istio's proxies at both ends report each request. One reporter is used per channel and window, never two: a waypoint, which
 * sees the whole channel, if it reports, else the source's proxy (or ztunnel), else the destination's.
 */
export const REPORTERS = ["waypoint", "source", "destination"] as const;
export type Reporter = (typeof REPORTERS)[number];

/** What is counted of a channel. Errors are requests answered with 5xx, or with 0: not at all. */
export const FLOWS = ["requests", "errors", "bytes", "tcpBytes"] as const;
export type Flow = (typeof FLOWS)[number];

/** Whose channel it is. */
export interface ChannelKey {
  readonly sourceNamespace: string;
  readonly source: string;
  readonly targetNamespace: string;
  readonly target: string;
}

/** Rates of a channel in a window. */
export interface ChannelRates {
  readonly reporter: Reporter;
  /** Null without any request metric. */
  readonly requestsPerSecond: number | null;
  /** Null without any byte metric. */
  readonly bytesPerSecond: number | null;
  /** Null without requests. */
  readonly errorRatio: number | null;
  readonly newestMs: number;
}

/** What one end's reporters counted. */
export class ChannelSide {
  readonly #shape: WindowShape;
  readonly coverage = new Coverage();
  readonly #sums: Partial<Record<Flow, SumPanes>> = {};
  #into: SumPanes | null = null;
  readonly #add: (paneStartMs: number, part: number) => void;

  constructor(shape: WindowShape) {
    this.#shape = shape;
    this.#add = (paneStartMs, part) => this.#into!.add(paneStartMs, part);
  }

  take(flow: Flow, increment: Increment): void {
    this.coverage.extend(increment.fromMs, increment.toMs, this.#shape.windowMs);
    this.#into = this.#sums[flow] ??= new SumPanes(this.#shape);
    if (increment.delta > 0) spreadOverPanes(increment, this.#shape.paneMs, this.#add);
  }

  /** Null when the flow was never reported. */
  total(flow: Flow, nowMs: number, panes: number): number | null {
    return this.#sums[flow]?.total(nowMs, panes) ?? null;
  }
}

/** One ordered pair of workloads. */
export class ChannelState {
  readonly key: ChannelKey;
  readonly #shape: WindowShape;
  readonly #sides = new Map<Reporter, ChannelSide>();
  live = true;

  constructor(key: ChannelKey, shape: WindowShape) {
    this.key = key;
    this.#shape = shape;
  }

  side(reporter: Reporter): ChannelSide {
    let side = this.#sides.get(reporter);
    if (side === undefined) this.#sides.set(reporter, (side = new ChannelSide(this.#shape)));
    return side;
  }

  /** Null when no reporter covers any of the window. */
  rates(nowMs: number, window: WindowName): ChannelRates | null {
    const panes = panesOf(this.#shape, window);
    for (const reporter of REPORTERS) {
      const side = this.#sides.get(reporter);
      const seconds = side?.coverage.seconds(this.#shape, nowMs, panes) ?? 0;
      if (side !== undefined && seconds > 0) return ratesOf(reporter, side, seconds, nowMs, panes);
    }
    return null;
  }

  get newestMs(): number {
    return Math.max(...[...this.#sides.values()].map((side) => side.coverage.newestMs));
  }
}

function ratesOf(
  reporter: Reporter,
  side: ChannelSide,
  seconds: number,
  nowMs: number,
  panes: number,
): ChannelRates {
  const requests = side.total("requests", nowMs, panes);
  const bytes = side.total("bytes", nowMs, panes);
  const tcpBytes = side.total("tcpBytes", nowMs, panes);
  const errors = side.total("errors", nowMs, panes) ?? 0;
  return {
    reporter,
    requestsPerSecond: requests === null ? null : requests / seconds,
    bytesPerSecond: bytes === null && tcpBytes === null ? null : ((bytes ?? 0) + (tcpBytes ?? 0)) / seconds,
    errorRatio: requests === null || requests === 0 ? null : Math.min(1, errors / requests),
    newestMs: side.coverage.newestMs,
  };
}

/** All channels that were seen within the window. */
export class ChannelTable {
  readonly #shape: WindowShape;
  readonly #maxChannels: number;
  readonly #channels = new Map<string, ChannelState>();

  constructor(shape: WindowShape, maxChannels: number) {
    this.#shape = shape;
    this.#maxChannels = maxChannels;
  }

  get size(): number {
    return this.#channels.size;
  }

  /** Null when there are too many. */
  open(key: ChannelKey): ChannelState | null {
    const id = `${key.sourceNamespace}/${key.source}\n${key.targetNamespace}/${key.target}`;
    const known = this.#channels.get(id);
    if (known !== undefined) return known;
    if (this.#channels.size >= this.#maxChannels) return null;
    const channel = new ChannelState(key, this.#shape);
    this.#channels.set(id, channel);
    return channel;
  }

  values(): IterableIterator<ChannelState> {
    return this.#channels.values();
  }

  /** Forgets channels that a whole window said nothing of. */
  expire(nowMs: number): void {
    const startMs = windowStartMs(this.#shape, nowMs);
    for (const [id, channel] of this.#channels) {
      const { newestMs } = channel;
      if (newestMs >= startMs || newestMs === Number.NEGATIVE_INFINITY) continue;
      channel.live = false;
      this.#channels.delete(id);
    }
  }
}
