import type { Distribution, ExponentialHistogramData } from "@isochrone/telemetry";
import type { HistogramReferences } from "./histogram-references.ts";
import { isNear, type PaneFacts } from "./link-change.ts";
import { LINK_COUNTS, type LinkCounts, type LinkPane, type PaneOfLink } from "./link-counts.ts";
import { NO_ROW, type PaneRows } from "../windows/pane-rows.ts";
import { RttPart } from "./rtt-part.ts";
import { RunningCounts, type Extremes } from "./running-counts.ts";
import type { WindowShape } from "../windows/window-shape.ts";

/** What all links of a table keep their panes in. */
export interface LinkMemory {
  readonly rows: PaneRows;
  readonly histograms: HistogramReferences;
}

/** What a pane has of round-trip times, where it isn't a reference, which is more than 0. */
const NO_PANE = 0;
const NO_RTT = -1;
/** None in a chunk: nothing that could be taken, or they are in #merging. */
const NOT_PACKED = -2;

const NO_COLUMNS: number[] = LINK_COUNTS.map(() => NO_ROW);

/** Columns of packets that didn't make it. */
const FAILURES = [LINK_COUNTS.indexOf("lost"), LINK_COUNTS.indexOf("sendErrors")];

/** Panes with late answers only that are no starved responder any more. */
const LATE_PANES = 5;
/** Column of late answers. */
const LATE = LINK_COUNTS.indexOf("late");

/**
 * The panes of one link, as rows of numbers: one for its round-trip times, which are references to packed
 * histograms, and one for each count that was ever above 0. As objects they took four times the memory, and
 * most of the collector's time.
 *
 * A pane exists once `open` was called for a time in it. The panes that may exist are those of the window,
 * and one that lies ahead of now.
 */
export class LinkPanes {
  readonly #shape: WindowShape;
  readonly #memory: LinkMemory;
  #rtts = NO_ROW;
  /** Rows in the order of LINK_COUNTS. */
  #columns: number[] = NO_COLUMNS;
  /** Round-trip times of all panes that exist, or of those from `#since` on. */
  #running = new RunningCounts();
  /** The first pane that is followed; null: all are. It has not left the window. */
  #since: number | null = null;
  /** The pane that round-trip times came more than once for, while that is the open one. */
  #merging: RttPart | null = null;
  /** Indices (time / paneMs): no pane before the first can exist any more, none after the last does. */
  #first = Number.NEGATIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;
  /** The pane that is added to. */
  #open = Number.NEGATIVE_INFINITY;

  constructor(shape: WindowShape, memory: LinkMemory) {
    this.#shape = shape;
    this.#memory = memory;
  }

  /**
   * Chooses the pane that is added to, and makes it if need be. False when the time can't be taken: older
   * than the window that ends with the pane of `nowMs` or than what was dropped already, more than one pane
   * length after `nowMs`, or no number.
   */
  open(timeMs: number, nowMs: number): boolean {
    this.expire(nowMs);
    const { paneMs } = this.#shape;
    if (!(timeMs <= nowMs + paneMs)) return false;
    const pane = Math.floor(timeMs / paneMs);
    if (pane < this.#first || pane < 0) return false;
    if (pane !== this.#open) {
      this.#seal();
      this.#open = pane;
    }
    const { rows } = this.#memory;
    if (this.#rtts === NO_ROW) this.#rtts = rows.take();
    if (rows.get(this.#rtts, pane) === NO_PANE) rows.set(this.#rtts, pane, NO_RTT);
    if (pane > this.#last) this.#last = pane;
    return true;
  }

  /** Adds to the open pane. */
  add(field: keyof LinkCounts, value: number): void {
    if (value === 0) return;
    const { rows } = this.#memory;
    const column = LINK_COUNTS.indexOf(field);
    if (this.#columns === NO_COLUMNS) this.#columns = [...NO_COLUMNS];
    let row = this.#columns[column]!;
    if (row === NO_ROW) row = this.#columns[column] = rows.take();
    rows.add(row, this.#open, value);
  }

  /** Adds to the open pane. False, and nothing is taken, for what no Distribution takes. */
  addRtt(data: ExponentialHistogramData): boolean {
    const part = this.#rttOf(this.#open) ?? new RttPart();
    const isTaken = part.add(data);
    this.#keep(part);
    if (isTaken) this.#count(data);
    return isTaken;
  }

  #count(data: ExponentialHistogramData): void {
    if (this.#isFollowed(this.#open)) this.#running.add(data);
  }

  #isFollowed(pane: number): boolean {
    return this.#since === null || pane >= this.#since;
  }

  /**
   * What the window of the newest `panes` panes says; null without data. A pane ahead of `nowMs` belongs to
   * the whole window only.
   */
  read(nowMs: number, panes: number): LinkPane | null {
    if (panes < this.#shape.panes) return this.#merged(nowMs, panes);
    if (this.expire(nowMs)) return null;
    if (this.#since !== null) return this.#merged(nowMs, panes);
    if (this.#running.count === 0) return { ...this.#counts(this.#first, this.#last), rtt: null };
    const rtt = this.#running.toDistribution(() => this.#extremes());
    if (rtt === null) return this.#merged(nowMs, panes);
    return { ...this.#counts(this.#first, this.#last), rtt };
  }

  /** From now on reading the panes from `first` on is what is fast; null: reading all of them. */
  follow(first: number | null): void {
    if (first === this.#since) return;
    this.#since = first;
    this.#running = new RunningCounts();
    if (this.#rtts === NO_ROW) return;
    for (let pane = Math.max(first ?? this.#first, this.#first); pane <= this.#last; pane++) {
      const data = this.#rttOf(pane)?.toData();
      if (data !== undefined && data.count > 0) this.#running.add(data);
    }
  }

  /**
   * What the panes say that are followed; null without data. It costs no more than a read of the whole
   * window.
   */
  readSince(nowMs: number): LinkPane | null {
    if (this.#since === null || this.expire(nowMs)) return null;
    // To expire may have been to come to an end of the panes before.
    const first = Math.max(this.#since ?? this.#first, this.#first);
    const running = this.#running;
    const rtt = running.count === 0 ? null : running.toDistribution(() => this.#extremes());
    return { ...this.#counts(first, this.#last), rtt };
  }

  /** The window's first pane. */
  firstPane(nowMs: number): number {
    return Math.floor(nowMs / this.#shape.paneMs) - this.#shape.panes + 1;
  }

  /**
   * What the panes first..last say, as far as the window has them and none lies ahead of `nowMs`; null
   * without data.
   */
  readSpan(nowMs: number, first: number, last: number): LinkPane | null {
    const nowPane = Math.floor(nowMs / this.#shape.paneMs);
    return this.#span(Math.max(first, this.firstPane(nowMs)), Math.min(last, nowPane));
  }

  /** How each pane went that exists, oldest first; one ahead of `nowMs` is left out. */
  facts(nowMs: number): PaneFacts[] {
    if (this.#rtts === NO_ROW) return [];
    const facts: PaneFacts[] = [];
    const last = Math.min(this.#last, Math.floor(nowMs / this.#shape.paneMs));
    for (let pane = this.#first; pane <= last; pane++) {
      if (this.#memory.rows.get(this.#rtts, pane) === NO_PANE) continue;
      facts.push({ pane, failures: this.#failures(pane), rtt: this.#rttOf(pane)?.quartiles() ?? null });
    }
    return this.#withoutLate(facts);
  }

  /** Takes back losses that were answered late: in the answer's pane, or in the nearest before it. */
  #withoutLate(facts: PaneFacts[]): PaneFacts[] {
    const row = this.#columns[LATE] ?? NO_ROW;
    if (row === NO_ROW) return facts;
    // Round trips that stay longer than the timeout are a cut.
    if (facts.slice(-LATE_PANES).every(({ rtt }) => rtt === null)) return facts;
    let late = 0;
    return facts
      .toReversed()
      .map((fact) => {
        late += this.#memory.rows.get(row, fact.pane);
        const taken = Math.min(late, fact.failures);
        late -= taken;
        return taken === 0 ? fact : { ...fact, failures: fact.failures - taken };
      })
      .toReversed();
  }

  /**
   * False when the newest panes may be the beginning of a change: all went unanswered, or the newest answers
   * took another time than most.
   */
  isSteady(nowMs: number, medianSeconds: number | null): boolean {
    if (this.#rtts === NO_ROW) return true;
    if (medianSeconds === null) return false;
    for (
      let pane = Math.min(this.#last, Math.floor(nowMs / this.#shape.paneMs));
      pane >= this.#first;
      pane--
    ) {
      const part = this.#rttOf(pane);
      const extremes = part?.extremes() ?? null;
      if (extremes !== null) {
        // Between extremes that are near, the median is; finding it takes far longer.
        const areNear = isNear(extremes.min, medianSeconds) && isNear(extremes.max, medianSeconds);
        return areNear || isNear(part!.median()!, medianSeconds);
      }
      if (this.#failures(pane) > 0) return false;
    }
    return true;
  }

  /** Drops the panes that have left the window. True when nothing is left. */
  expire(nowMs: number): boolean {
    const { paneMs, panes } = this.#shape;
    const nowPane = Math.floor(nowMs / paneMs);
    // The clock was set back by more than the window: what it has is of a time that won't come for long.
    const isSetBack = nowPane + 1 < this.#first;
    const first = isSetBack ? this.#last + 1 : nowPane - panes + 1;
    if (this.#rtts !== NO_ROW)
      for (let pane = this.#first; pane < first && pane <= this.#last; pane++) this.#drop(pane);
    if (isSetBack) this.#first = nowPane - panes + 1;
    else if (first > this.#first) this.#first = first;
    if (this.#since !== null && this.#since < this.#first) this.#since = null;
    const isEmpty = isSetBack || this.#last < this.#first;
    if (isEmpty) this.#release();
    return isEmpty;
  }

  #drop(pane: number): void {
    const { rows, histograms } = this.#memory;
    const rtt = rows.get(this.#rtts, pane);
    if (rtt === NO_PANE) return;
    const data = this.#rttOf(pane)?.toData();
    if (data !== undefined && data.count > 0 && this.#isFollowed(pane)) this.#running.subtract(data);
    if (rtt > 0) histograms.release(rtt);
    if (pane === this.#open) {
      this.#merging = null;
      this.#open = Number.NEGATIVE_INFINITY;
    }
    rows.set(this.#rtts, pane, NO_PANE);
    for (const row of this.#columns) if (row !== NO_ROW) rows.set(row, pane, 0);
  }

  /** Gives the memory back: it has no pane. */
  #release(): void {
    this.#since = null;
    if (this.#rtts === NO_ROW) return;
    const { rows } = this.#memory;
    for (const row of [this.#rtts, ...this.#columns]) if (row !== NO_ROW) rows.release(row);
    this.#rtts = NO_ROW;
    this.#columns = NO_COLUMNS;
    this.#last = Number.NEGATIVE_INFINITY;
  }

  /** Null: the pane has none. What was merged is the live one, all others are copies. */
  #rttOf(pane: number): RttPart | null {
    const { rows, histograms } = this.#memory;
    if (pane === this.#open && this.#merging !== null) return this.#merging;
    const rtt = rows.get(this.#rtts, pane);
    if (rtt > 0) return RttPart.packed(histograms.chunkOf(rtt), histograms.placeOf(rtt));
    return rtt === NOT_PACKED ? new RttPart() : null;
  }

  /** Notes what the open pane has now. */
  #keep(part: RttPart): void {
    const { rows, histograms } = this.#memory;
    const { chunk } = part;
    const before = rows.get(this.#rtts, this.#open);
    const after = chunk === null ? NOT_PACKED : histograms.hold(chunk, part.at);
    if (before > 0) histograms.release(before);
    rows.set(this.#rtts, this.#open, after);
    this.#merging = part.isMerged ? part : null;
  }

  /** Packs what was merged: nothing more comes for that pane, mostly. */
  #seal(): void {
    const part = this.#merging;
    if (part === null) return;
    part.pack();
    this.#keep(part);
  }

  #counts(first: number, last: number): LinkCounts {
    const { rows } = this.#memory;
    const counts = emptyCounts();
    for (let i = 0; i < LINK_COUNTS.length; i++) {
      const row = this.#columns[i]!;
      if (row !== NO_ROW) counts[LINK_COUNTS[i]!] = rows.sum(row, first, last);
    }
    return counts;
  }

  #failures(pane: number): number {
    const { rows } = this.#memory;
    let failures = 0;
    for (const column of FAILURES) {
      const row = this.#columns[column]!;
      if (row !== NO_ROW) failures += rows.get(row, pane);
    }
    return failures;
  }

  /** Of the panes that end with the one of `nowMs`; null when none of them exists. */
  #merged(nowMs: number, panes: number): LinkPane | null {
    const nowPane = Math.floor(nowMs / this.#shape.paneMs);
    return this.#span(nowPane - panes + 1, nowPane);
  }

  #span(from: number, to: number): LinkPane | null {
    if (this.#rtts === NO_ROW) return null;
    const first = Math.max(this.#first, from);
    const last = Math.min(this.#last, to);
    let exists = false;
    let rtt: PaneOfLink["rtt"] = null;
    for (let pane = first; pane <= last; pane++) {
      exists ||= this.#memory.rows.get(this.#rtts, pane) !== NO_PANE;
      const part = this.#rttOf(pane);
      if (part !== null) (rtt ??= new RttPart()).addPart(part);
    }
    return exists ? { ...this.#counts(first, last), rtt: distributionOf(rtt) } : null;
  }

  #extremes(): Extremes {
    let min = Number.POSITIVE_INFINITY;
    let max = Number.NEGATIVE_INFINITY;
    const { rows, histograms } = this.#memory;
    for (let pane = Math.max(this.#since ?? this.#first, this.#first); pane <= this.#last; pane++) {
      const reference = pane === this.#open ? NO_RTT : rows.get(this.#rtts, pane);
      // Of nearly all panes the two numbers are read where they lie: it is done for all panes of nearly all
      // links.
      if (reference > 0) {
        const chunk = histograms.chunkOf(reference);
        const at = histograms.placeOf(reference);
        min = Math.min(min, chunk.min(at));
        max = Math.max(max, chunk.max(at));
        continue;
      }
      const extremes = this.#rttOf(pane)?.extremes() ?? null;
      if (extremes === null) continue;
      min = Math.min(min, extremes.min);
      max = Math.max(max, extremes.max);
    }
    return { min, max };
  }
}

function distributionOf(part: RttPart | null): Distribution | null {
  return part?.toDistribution() ?? null;
}

function emptyCounts(): LinkCounts {
  return {
    sent: 0,
    received: 0,
    lost: 0,
    late: 0,
    sendErrors: 0,
    variationSeconds: 0,
    variationCount: 0,
  };
}
