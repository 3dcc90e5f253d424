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

export interface LinkKey {
  readonly source: string;
  readonly target: string;
  readonly method: Method;
  readonly ipFamily: 4 | 6;
}

const NO_PACKETS: FreshPackets = { failed: 0, received: 0 };

export class LinkState {
  readonly key: LinkKey;
  /** Number of its pair of nodes, shared by both directions and all methods. */
  readonly pair: number;
  readonly #panes: LinkPanes;
  /** Start of the first point, on the event time line. */
  firstMs = Number.POSITIVE_INFINITY;
  newestMs = Number.NEGATIVE_INFINITY;
  /** End of the newest point with answers. Does not expire while the link exists. */
  answeredMs = Number.NEGATIVE_INFINITY;
  live = true;
  #freshFailed = 0;
  #freshReceived = 0;
  #change: LinkChange | null = null;
  /** True once its panes were evaluated. After a restart a whole window may have been read back. */
  #isWalked = false;

  constructor(key: LinkKey, shape: WindowShape, memory: LinkMemory = memoryOf(shape), pair = 0) {
    this.key = key;
    this.pair = pair;
    this.#panes = new LinkPanes(shape, memory);
  }

  /** Returns false for inconsistent data, and takes none of it. */
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

  read(nowMs: number, panes: number): LinkPane | null {
    return this.#panes.read(nowMs, panes);
  }

  readSpan(nowMs: number, first: number, last: number): LinkPane | null {
    return this.#panes.readSpan(nowMs, first, last);
  }

  /** Packets decided since the last call. Holds back losses without an answer, which may be a cut's. */
  takeFresh(isCut: boolean): FreshPackets {
    const [failed, received] = [this.#freshFailed, this.#freshReceived];
    if (received === 0 && !isCut) return NO_PACKETS;
    this.#freshFailed = this.#freshReceived = 0;
    return isCut ? NO_PACKETS : { failed, received };
  }

  facts(nowMs: number): PaneFacts[] {
    return this.#panes.facts(nowMs);
  }

  get change(): LinkChange | null {
    return this.#change;
  }

  /**
   * Updates and returns the change that the window's figures start with; null: none. Most links are steady,
   * which one pane shows.
   * @param medianSeconds median since the previous change, or of the whole window without one; null without
   * an answer
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

  /** Data since the change; null: no change, or no answers since. */
  readSince(nowMs: number): LinkPane | null {
    return this.#panes.readSince(nowMs);
  }

  expire(nowMs: number): boolean {
    return this.#panes.expire(nowMs);
  }

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

export class LinkTable {
  readonly #shape: WindowShape;
  readonly #maxLinks: number;
  readonly #order: LinkOrder;
  readonly #memory: LinkMemory;
  readonly #links = new Map<string, LinkState>();
  #sorted: readonly LinkState[] | null = null;
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

  get pairs(): number {
    return this.#nextPair;
  }

  /** Returns null if the total limit or the sender's room is exhausted. */
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

  sorted(): readonly LinkState[] {
    this.#sorted ??= [...this.#links.values()].sort((a, b) => this.#order(a.key, b.key));
    return this.#sorted;
  }

  /** Frees expired panes. An empty link remains while `wanted` returns true, so that silence is visible. */
  expire(nowMs: number, wanted: (key: LinkKey) => boolean): void {
    for (const [id, link] of this.#links) {
      if (!link.expire(nowMs) || wanted(link.key)) continue;
      link.live = false;
      this.#links.delete(id);
      this.#sorted = null;
      if (this.#pairOf(link.key) === null) this.#freePairs.push(link.pair);
    }
  }

  /** Number of the pair from any other of its links; null: none. */
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
