import type { Distribution, ExponentialHistogramData } from "@isochrone/telemetry";
import type { HistogramReferences } from "./histogram-references.ts";
import { isNear, type PaneFacts } from "./link-change.ts";
import { LINK_COUNTS, type LinkCounts, type LinkPane, type PaneOfLink } from "./link-counts.ts";
import { NO_ROW, type PaneRows } from "../windows/pane-rows.ts";
import { RttPart } from "./rtt-part.ts";
import { RunningCounts, type Extremes } from "./running-counts.ts";
import type { WindowShape } from "../windows/window-shape.ts";

export interface LinkMemory {
  readonly rows: PaneRows;
  readonly histograms: HistogramReferences;
}

/** Marks a pane without round-trip times. References are above 0. */
const NO_PANE = 0;
const NO_RTT = -1;
/** Marks round-trip times that are not in a chunk: none were valid, or they are in #merging. */
const NOT_PACKED = -2;

const NO_COLUMNS: number[] = LINK_COUNTS.map(() => NO_ROW);

const FAILURES = [LINK_COUNTS.indexOf("lost"), LINK_COUNTS.indexOf("sendErrors")];

/** Number of panes with only late answers after which the cause is no longer a starved responder. */
const LATE_PANES = 5;
const LATE = LINK_COUNTS.indexOf("late");

/**
 * Panes of one link as rows of numbers: one row of references to packed histograms, and one row per count
 * that was ever above 0. Objects took four times the memory and most of the garbage collector's time. A pane
 * exists once `open` was called for a time in it. Possible panes are those of the window, and one ahead of
 * now.
 */
export class LinkPanes {
  readonly #shape: WindowShape;
  readonly #memory: LinkMemory;
  #rtts = NO_ROW;
  #columns: number[] = NO_COLUMNS;
  #running = new RunningCounts();
  /** First followed pane; null: all panes. It is within the window. */
  #since: number | null = null;
  #merging: RttPart | null = null;
  /** First and last pane index (time / paneMs) that can exist. */
  #first = Number.NEGATIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;
  #open = Number.NEGATIVE_INFINITY;

  constructor(shape: WindowShape, memory: LinkMemory) {
    this.#shape = shape;
    this.#memory = memory;
  }

  /**
   * Selects the pane to write to, and creates it if needed. Returns false for an unusable time: before the
   * window that ends with the pane of `nowMs`, already expired, more than one pane after `nowMs`, or not a
   * number.
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

  add(field: keyof LinkCounts, value: number): void {
    if (value === 0) return;
    const { rows } = this.#memory;
    const column = LINK_COUNTS.indexOf(field);
    if (this.#columns === NO_COLUMNS) this.#columns = [...NO_COLUMNS];
    let row = this.#columns[column]!;
    if (row === NO_ROW) row = this.#columns[column] = rows.take();
    rows.add(row, this.#open, value);
  }

  /** Adds to the open pane. Returns false for inconsistent data, and takes none of it. */
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

  /** Null: no data. A pane ahead of `nowMs` counts for the whole window only. */
  read(nowMs: number, panes: number): LinkPane | null {
    if (panes < this.#shape.panes) return this.#merged(nowMs, panes);
    if (this.expire(nowMs)) return null;
    if (this.#since !== null) return this.#merged(nowMs, panes);
    if (this.#running.count === 0) return { ...this.#counts(this.#first, this.#last), rtt: null };
    const rtt = this.#running.toDistribution(() => this.#extremes());
    if (rtt === null) return this.#merged(nowMs, panes);
    return { ...this.#counts(this.#first, this.#last), rtt };
  }

  /** Makes reading from pane `first` on fast; null: reading all panes. */
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

  /** Data of the followed panes; null: none. As fast as a read of the whole window. */
  readSince(nowMs: number): LinkPane | null {
    if (this.#since === null || this.expire(nowMs)) return null;
    // Expiry may have moved the window beyond the first followed pane.
    const first = Math.max(this.#since ?? this.#first, this.#first);
    const running = this.#running;
    const rtt = running.count === 0 ? null : running.toDistribution(() => this.#extremes());
    return { ...this.#counts(first, this.#last), rtt };
  }

  firstPane(nowMs: number): number {
    return Math.floor(nowMs / this.#shape.paneMs) - this.#shape.panes + 1;
  }

  /** Data of panes first..last within the window and up to `nowMs`; null: none. */
  readSpan(nowMs: number, first: number, last: number): LinkPane | null {
    const nowPane = Math.floor(nowMs / this.#shape.paneMs);
    return this.#span(Math.max(first, this.firstPane(nowMs)), Math.min(last, nowPane));
  }

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

  /** Removes losses that were answered late, from the answer's pane or the nearest earlier one. */
  #withoutLate(facts: PaneFacts[]): PaneFacts[] {
    const row = this.#columns[LATE] ?? NO_ROW;
    if (row === NO_ROW) return facts;
    // Round trips that remain above the timeout are a cut.
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

  /** Returns false if the newest panes may start a change: no answers, or a different round-trip time. */
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
        // The median lies between the extremes, and computing it costs far more.
        const areNear = isNear(extremes.min, medianSeconds) && isNear(extremes.max, medianSeconds);
        return areNear || isNear(part!.median()!, medianSeconds);
      }
      if (this.#failures(pane) > 0) return false;
    }
    return true;
  }

  expire(nowMs: number): boolean {
    const { paneMs, panes } = this.#shape;
    const nowPane = Math.floor(nowMs / paneMs);
    // The clock was set back by more than the window, so all panes are in the future.
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

  #release(): void {
    this.#since = null;
    if (this.#rtts === NO_ROW) return;
    const { rows } = this.#memory;
    for (const row of [this.#rtts, ...this.#columns]) if (row !== NO_ROW) rows.release(row);
    this.#rtts = NO_ROW;
    this.#columns = NO_COLUMNS;
    this.#last = Number.NEGATIVE_INFINITY;
  }

  /** Returns null if the pane has none. The merging pane is returned live, others as copies. */
  #rttOf(pane: number): RttPart | null {
    const { rows, histograms } = this.#memory;
    if (pane === this.#open && this.#merging !== null) return this.#merging;
    const rtt = rows.get(this.#rtts, pane);
    if (rtt > 0) return RttPart.packed(histograms.chunkOf(rtt), histograms.placeOf(rtt));
    return rtt === NOT_PACKED ? new RttPart() : null;
  }

  #keep(part: RttPart): void {
    const { rows, histograms } = this.#memory;
    const { chunk } = part;
    const before = rows.get(this.#rtts, this.#open);
    const after = chunk === null ? NOT_PACKED : histograms.hold(chunk, part.at);
    if (before > 0) histograms.release(before);
    rows.set(this.#rtts, this.#open, after);
    this.#merging = part.isMerged ? part : null;
  }

  /** Packs the merging pane, because further additions are rare. */
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
      // Hot path: reads the two numbers in place for most panes.
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
