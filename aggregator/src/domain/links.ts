import { Distribution, type ExponentialHistogramData, type Method, Window } from "@isochrone/telemetry";
import type { LinkOrder } from "./compare.ts";
import type { PointTime } from "./point-time.ts";
import { RunningCounts, type Extremes } from "./running-counts.ts";
import { windowStartMs, type WindowShape } from "./window-shape.ts";

/** What a link's probes found in one pane, or in a window of panes. */
export interface LinkPane {
  /** Seconds; null without an answer. */
  rtt: Distribution | null;
  sent: number;
  received: number;
  lost: number;
  late: number;
  /** Packets that the kernel didn't take; `lost` excludes them. */
  sendErrors: number;
  variationSeconds: number;
  variationCount: number;
}

/** Whose link it is. */
export interface LinkKey {
  readonly source: string;
  readonly target: string;
  readonly method: Method;
  readonly ipFamily: 4 | 6;
}

/** Packet counts of a pane. */
export type PacketCount = "sent" | "received" | "lost" | "late" | "sendErrors";

/** One link's window. */
export class LinkState {
  readonly key: LinkKey;
  readonly #shape: WindowShape;
  readonly #window: Window<LinkPane>;
  /** Sums over all panes that exist in #window, always; the round-trip times in #rtts. */
  readonly #totals = emptyPane();
  readonly #rtts = new RunningCounts();
  #startMs = Number.NEGATIVE_INFINITY;
  /** When the first point began that it ever had, on the event time line. */
  firstMs = Number.POSITIVE_INFINITY;
  newestMs = Number.NEGATIVE_INFINITY;
  live = true;

  constructor(key: LinkKey, shape: WindowShape) {
    this.key = key;
    this.#shape = shape;
    this.#window = new Window({
      paneMs: shape.paneMs,
      panes: shape.panes,
      create: emptyPane,
      merge: mergePane,
    });
  }

  addRtt(point: PointTime, data: ExponentialHistogramData): void {
    const pane = this.#pane(point);
    if (pane === null) return;
    pane.rtt ??= new Distribution();
    if (pane.rtt.mergeData(data)) this.#rtts.add(data);
  }

  addPackets(point: PointTime, count: PacketCount, packets: number): void {
    const pane = this.#pane(point);
    if (pane === null) return;
    pane[count] += packets;
    this.#totals[count] += packets;
  }

  addVariation(point: PointTime, field: "variationSeconds" | "variationCount", value: number): void {
    const pane = this.#pane(point);
    if (pane === null) return;
    pane[field] += value;
    this.#totals[field] += value;
  }

  /** What the window of the newest `panes` panes says; null without data. */
  read(nowMs: number, panes: number): LinkPane | null {
    if (panes < this.#shape.panes) return this.#window.read(nowMs, { panes });
    if (this.expire(nowMs)) return null;
    if (this.#rtts.count === 0) return { ...this.#totals };
    const rtt = this.#rtts.toDistribution(() => extremesOf(this.#window.entries()));
    return rtt === null ? this.#window.read(nowMs) : { ...this.#totals, rtt };
  }

  /** Drops the panes that have left the window. True when nothing is left. */
  expire(nowMs: number): boolean {
    const startMs = windowStartMs(this.#shape, nowMs);
    if (startMs > this.#startMs) {
      this.#startMs = startMs;
      for (const { startMs: paneStartMs, value } of this.#window.entries()) {
        if (paneStartMs >= startMs) break;
        this.#forget(value);
      }
    }
    return this.#window.expire(nowMs);
  }

  #forget(pane: LinkPane): void {
    addCounts(this.#totals, pane, -1);
    // What is left of a difference of sums would be a jitter of nothing.
    if (this.#totals.variationCount === 0) this.#totals.variationSeconds = 0;
    if (pane.rtt !== null && pane.rtt.count > 0) this.#rtts.subtract(pane.rtt.toData());
  }

  #pane(point: PointTime): LinkPane | null {
    this.expire(point.nowMs);
    const pane = this.#window.pane(point.eventMs, point.nowMs);
    if (pane === null) return null;
    const fromMs = point.startMs > 0 ? point.startMs + point.offsetMs : point.eventMs;
    if (fromMs < this.firstMs) this.firstMs = fromMs;
    if (point.eventMs > this.newestMs) this.newestMs = point.eventMs;
    return pane;
  }
}

function extremesOf(panes: Iterable<{ readonly value: LinkPane }>): Extremes {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const { value } of panes) {
    if (value.rtt === null || value.rtt.count === 0) continue;
    min = Math.min(min, value.rtt.min!);
    max = Math.max(max, value.rtt.max!);
  }
  return { min, max };
}

function emptyPane(): LinkPane {
  return {
    rtt: null,
    sent: 0,
    received: 0,
    lost: 0,
    late: 0,
    sendErrors: 0,
    variationSeconds: 0,
    variationCount: 0,
  };
}

function mergePane(into: LinkPane, from: LinkPane): void {
  if (from.rtt !== null) {
    if (into.rtt === null) into.rtt = from.rtt.clone();
    else into.rtt.merge(from.rtt);
  }
  addCounts(into, from, 1);
}

function addCounts(into: LinkPane, from: LinkPane, sign: 1 | -1): void {
  into.sent += sign * from.sent;
  into.received += sign * from.received;
  into.lost += sign * from.lost;
  into.late += sign * from.late;
  into.sendErrors += sign * from.sendErrors;
  into.variationSeconds += sign * from.variationSeconds;
  into.variationCount += sign * from.variationCount;
}

/** All links that were ever heard of and are not given up. */
export class LinkTable {
  readonly #shape: WindowShape;
  readonly #maxLinks: number;
  readonly #order: LinkOrder;
  readonly #links = new Map<string, LinkState>();
  #sorted: readonly LinkState[] | null = null;

  constructor(shape: WindowShape, maxLinks: number, order: LinkOrder) {
    this.#shape = shape;
    this.#maxLinks = maxLinks;
    this.#order = order;
  }

  get size(): number {
    return this.#links.size;
  }

  /** Null when there are too many. */
  open(key: LinkKey): LinkState | null {
    const id = `${key.source}\n${key.target}\n${key.method}\n${key.ipFamily}`;
    const known = this.#links.get(id);
    if (known !== undefined) return known;
    if (this.#links.size >= this.#maxLinks) return null;
    const link = new LinkState(key, this.#shape);
    this.#links.set(id, link);
    this.#sorted = null;
    return link;
  }

  /** In the graph's order. */
  sorted(): readonly LinkState[] {
    this.#sorted ??= [...this.#links.values()].sort((a, b) => this.#order(a.key, b.key));
    return this.#sorted;
  }

  /** Frees old panes. A link without any stays, with nothing to show, as long as `wanted` says: silence must be seen. */
  expire(nowMs: number, wanted: (key: LinkKey) => boolean): void {
    for (const [id, link] of this.#links) {
      if (!link.expire(nowMs) || wanted(link.key)) continue;
      link.live = false;
      this.#links.delete(id);
      this.#sorted = null;
    }
  }
}
