import { METHODS, type ExponentialHistogramData, type Method } from "@isochrone/telemetry";
import type { LinkOrder } from "../compare.ts";
import { HistogramReferences } from "./histogram-references.ts";
import { lastChange, type LinkChange, type PaneFacts } from "./link-change.ts";
import { LinkPanes, type LinkMemory } from "./link-panes.ts";
import type { LinkPane, PacketCount, Variation, FreshPackets } from "./link-counts.ts";
import { PaneRows } from "../windows/pane-rows.ts";
import type { PointTime } from "../point-time.ts";
import { BOUNDLESS, type Room } from "../speakers/permit.ts";
import type { WindowShape } from "../windows/window-shape.ts";

/** Whose link it is. */
export interface LinkKey {
  readonly source: string;
  readonly target: string;
  readonly method: Method;
  readonly ipFamily: 4 | 6;
}

const NO_PACKETS: FreshPackets = { failed: 0, received: 0 };

/** One link's window. */
export class LinkState {
  readonly key: LinkKey;
  /** Number of its pair of nodes: links of both directions and all methods share it. */
  readonly pair: number;
  readonly #panes: LinkPanes;
  /** When the first point began that it ever had, on the event time line. */
  firstMs = Number.POSITIVE_INFINITY;
  newestMs = Number.NEGATIVE_INFINITY;
  /** When the newest point with answers ended; however old, while the link is kept. */
  answeredMs = Number.NEGATIVE_INFINITY;
  live = true;
  #freshFailed = 0;
  #freshReceived = 0;
  #change: LinkChange | null = null;
  /** Whether its panes were walked over: an aggregator that starts may have read back a whole window. */
  #isWalked = false;

  constructor(key: LinkKey, shape: WindowShape, memory: LinkMemory = memoryOf(shape), pair = 0) {
    this.key = key;
    this.pair = pair;
    this.#panes = new LinkPanes(shape, memory);
  }

  /** False for numbers that contradict each other: nothing was taken. */
  addRtt(point: PointTime, data: ExponentialHistogramData): boolean {
    if (!this.#open(point)) return true;
    const isTaken = this.#panes.addRtt(data);
    if (isTaken && data.count > 0) this.#noteAnswer(point);
    return isTaken;
  }

  addPackets(point: PointTime, count: PacketCount, packets: number): void {
    if (!this.#open(point)) return;
    this.#panes.add(count, packets);
    if (count === "received" || count === "late") this.#freshReceived += packets;
    if (count === "lost" || count === "sendErrors") this.#freshFailed += packets;
    else if (count === "late") this.#freshFailed -= packets;
  }

  addVariation(point: PointTime, field: Variation, value: number): void {
    if (this.#open(point)) this.#panes.add(field, value);
  }

  /** What the window of the newest `panes` panes says; null without data. */
  read(nowMs: number, panes: number): LinkPane | null {
    return this.#panes.read(nowMs, panes);
  }

  /** What the panes first..last say; null without data. */
  readSpan(nowMs: number, first: number, last: number): LinkPane | null {
    return this.#panes.readSpan(nowMs, first, last);
  }

  /** Returns the packets decided since the last call. Losses without an answer may be a cut's: they wait. */
  takeFresh(isCut: boolean): FreshPackets {
    const [failed, received] = [this.#freshFailed, this.#freshReceived];
    if (received === 0 && !isCut) return NO_PACKETS;
    this.#freshFailed = this.#freshReceived = 0;
    return isCut ? NO_PACKETS : { failed, received };
  }

  /** How each pane went, oldest first. */
  facts(nowMs: number): PaneFacts[] {
    return this.#panes.facts(nowMs);
  }

  /** As it was last followed. */
  get change(): LinkChange | null {
    return this.#change;
  }

  /**
   * The change that the window's figures begin with; null while there is none. Most links are steady, which
   * one pane tells.
   * @param medianSeconds since the change of before, without one of the whole window; null without an answer
   */
  follow(nowMs: number, medianSeconds: number | null): LinkChange | null {
    const before = this.#change;
    const isOver = before !== null && (before.firstPane ?? Infinity) <= this.#panes.firstPane(nowMs);
    const stands = before === null || (before.isSettled && !isOver);
    if (this.#isWalked && stands && this.#panes.isSteady(nowMs, medianSeconds)) return before;
    this.#isWalked = true;
    const change = lastChange(this.#panes.facts(nowMs));
    this.#change = before !== null && isSame(before, change) ? before : change;
    this.#panes.follow(change === null || change.isCut ? null : change.firstPane);
    return this.#change;
  }

  /** What the panes since the change say; null where there is none, or nothing answers since. */
  readSince(nowMs: number): LinkPane | null {
    return this.#panes.readSince(nowMs);
  }

  /** Drops the panes that have left the window. True when nothing is left. */
  expire(nowMs: number): boolean {
    return this.#panes.expire(nowMs);
  }

  /** Drops everything but whose link it is. */
  forget(): void {
    this.#panes.expire(Number.POSITIVE_INFINITY);
    this.firstMs = Number.POSITIVE_INFINITY;
    this.newestMs = this.answeredMs = Number.NEGATIVE_INFINITY;
    this.#freshFailed = this.#freshReceived = 0;
    this.#change = null;
    this.#isWalked = false;
  }

  #noteAnswer({ eventMs }: PointTime): void {
    if (eventMs > this.answeredMs) this.answeredMs = eventMs;
  }

  /** False for a point that no pane takes. */
  #open(point: PointTime): boolean {
    const fromMs = point.startMs > 0 ? point.startMs + point.offsetMs : point.eventMs;
    if (fromMs < this.firstMs) this.firstMs = fromMs;
    if (!this.#panes.open(point.eventMs, point.nowMs)) return false;
    if (point.eventMs > this.newestMs) this.newestMs = point.eventMs;
    return true;
  }
}

function isSame(a: LinkChange, b: LinkChange | null): boolean {
  return (
    b !== null &&
    a.firstPane === b.firstPane &&
    a.lastPane === b.lastPane &&
    a.isCut === b.isCut &&
    a.isSettled === b.isSettled
  );
}

function memoryOf(shape: WindowShape): LinkMemory {
  return { rows: new PaneRows(shape), histograms: new HistogramReferences() };
}

/** All links that were ever heard of and are not given up. */
export class LinkTable {
  readonly #shape: WindowShape;
  readonly #maxLinks: number;
  readonly #order: LinkOrder;
  readonly #memory: LinkMemory;
  readonly #links = new Map<string, LinkState>();
  #sorted: readonly LinkState[] | null = null;
  /** Numbers of pairs: those given up, and the first that nobody ever had. */
  readonly #freePairs: number[] = [];
  #nextPair = 0;

  constructor(shape: WindowShape, maxLinks: number, order: LinkOrder, rows: PaneRows = new PaneRows(shape)) {
    this.#shape = shape;
    this.#maxLinks = maxLinks;
    this.#order = order;
    this.#memory = { rows, histograms: new HistogramReferences() };
  }

  get size(): number {
    return this.#links.size;
  }

  /** More than any pair's number. */
  get pairs(): number {
    return this.#nextPair;
  }

  /** Null when there are too many, in all or for whom the room is. */
  open(key: LinkKey, room: Room = BOUNDLESS): LinkState | null {
    const id = idOf(key);
    const known = this.#links.get(id);
    if (known !== undefined) return known;
    if (this.#links.size >= this.#maxLinks || room.left <= 0) return null;
    room.left--;
    const pair = this.#pairOf(key) ?? this.#freePairs.pop() ?? this.#nextPair++;
    const link = new LinkState(key, this.#shape, this.#memory, pair);
    this.#links.set(id, link);
    this.#sorted = null;
    return link;
  }

  /** In the graph's order. */
  sorted(): readonly LinkState[] {
    this.#sorted ??= [...this.#links.values()].sort((a, b) => this.#order(a.key, b.key));
    return this.#sorted;
  }

  /**
   * Frees old panes. A link without any stays, with nothing to show, as long as `wanted` says: silence must
   * be seen.
   */
  expire(nowMs: number, wanted: (key: LinkKey) => boolean): void {
    for (const [id, link] of this.#links) {
      if (!link.expire(nowMs) || wanted(link.key)) continue;
      link.live = false;
      this.#links.delete(id);
      this.#sorted = null;
      if (this.#pairOf(link.key) === null) this.#freePairs.push(link.pair);
    }
  }

  /** Number of the pair, by any other of its links; null: it has none. */
  #pairOf({ source, target, ipFamily }: LinkKey): number | null {
    for (const method of METHODS) {
      const link =
        this.#links.get(idOf({ source, target, method, ipFamily })) ??
        this.#links.get(idOf({ source: target, target: source, method, ipFamily }));
      if (link !== undefined) return link.pair;
    }
    return null;
  }
}

function idOf({ source, target, method, ipFamily }: LinkKey): string {
  return `${source}\n${target}\n${method}\n${ipFamily}`;
}
