import { type Distribution, type ExponentialHistogramData, type Method, Window } from "@isochrone/telemetry";
import type { LinkOrder } from "./compare.ts";
import type { PointTime } from "./point-time.ts";
import { RttPart } from "./rtt-part.ts";
import { RunningCounts, type Extremes } from "./running-counts.ts";
import { windowStartMs, type WindowShape } from "./window-shape.ts";

/** What a link's probes counted in one pane, or in a window of panes. */
interface LinkCounts {
  sent: number;
  received: number;
  lost: number;
  late: number;
  /** Packets that the kernel didn't take; `lost` excludes them. */
  sendErrors: number;
  variationSeconds: number;
  variationCount: number;
}

/** What a link's probes found in a window of panes. */
export interface LinkPane extends LinkCounts {
  /** Seconds; null without an answer. */
  rtt: Distribution | null;
}

/** What they found in one pane. */
export interface PaneOfLink extends LinkCounts {
  rtt: RttPart | null;
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
  readonly #window: Window<PaneOfLink>;
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
    pane.rtt ??= new RttPart();
    if (pane.rtt.add(data)) this.#rtts.add(data);
  }

  /** What was gathered before, by the rules of `addRtt`. */
  addRttPart(point: PointTime, part: RttPart): void {
    const pane = this.#pane(point);
    if (pane === null) return;
    pane.rtt ??= new RttPart();
    pane.rtt.addPart(part);
    this.#rtts.add(part.toData());
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
    if (panes < this.#shape.panes) return withDistribution(this.#window.read(nowMs, { panes }));
    if (this.expire(nowMs)) return null;
    if (this.#rtts.count === 0) return { ...this.#totals, rtt: null };
    const rtt = this.#rtts.toDistribution(() => extremesOf(this.#window.entries()));
    return rtt === null ? withDistribution(this.#window.read(nowMs)) : { ...this.#totals, rtt };
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

  #forget(pane: PaneOfLink): void {
    addCounts(this.#totals, pane, -1);
    // What is left of a difference of sums would be a jitter of nothing.
    if (this.#totals.variationCount === 0) this.#totals.variationSeconds = 0;
    const data = pane.rtt?.toData();
    if (data !== undefined && data.count > 0) this.#rtts.subtract(data);
  }

  #pane(point: PointTime): PaneOfLink | null {
    this.expire(point.nowMs);
    const fromMs = point.startMs > 0 ? point.startMs + point.offsetMs : point.eventMs;
    if (fromMs < this.firstMs) this.firstMs = fromMs;
    const pane = this.#window.pane(point.eventMs, point.nowMs);
    if (pane === null) return null;
    if (point.eventMs > this.newestMs) this.newestMs = point.eventMs;
    return pane;
  }
}

function withDistribution(pane: PaneOfLink | null): LinkPane | null {
  return pane === null ? null : { ...pane, rtt: pane.rtt?.toDistribution() ?? null };
}

function extremesOf(panes: Iterable<{ readonly value: PaneOfLink }>): Extremes {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const { value } of panes) {
    const extremes = value.rtt?.extremes() ?? null;
    if (extremes === null) continue;
    min = Math.min(min, extremes.min);
    max = Math.max(max, extremes.max);
  }
  return { min, max };
}

function emptyPane(): PaneOfLink {
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

function mergePane(into: PaneOfLink, from: PaneOfLink): void {
  if (from.rtt !== null) (into.rtt ??= new RttPart()).addPart(from.rtt);
  addCounts(into, from, 1);
}

function addCounts(into: LinkCounts, from: LinkCounts, sign: 1 | -1): void {
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
