import { BusError, type Batch, type BusRecord, type OutgoingRecord } from "@isochrone/bus";
import type { Clock } from "@isochrone/runtime";
import { DeltaTables, type Contributions } from "../domain/delta/delta-tables.ts";
import { DroppedReports } from "../domain/ingest/dropped-reports.ts";
import { Ingest, type IngestOptions, type OnRefused, type SpeakingParts } from "../domain/ingest/ingest.ts";
import type { IngestCounts, Refused } from "../domain/ingest/ingest-counts.ts";
import type { AcceptedRecords } from "../domain/log/accepted-records.ts";
import type { DeltaIndex } from "../domain/log/index-text.ts";
import type { RecordSequences } from "../domain/ingest/record-sources.ts";
import { OwnedSequences } from "../domain/log/owned-sequences.ts";
import { deltaRecords } from "../domain/log/pane-record.ts";
import type { Speakers } from "../domain/speakers/speaker.ts";
import type { TableLimits } from "../domain/graphs/tables.ts";
import type { WindowShape } from "../domain/windows/window-shape.ts";
import { CommitHorizon } from "./commit-horizon.ts";
import { bodiesOf } from "./delta-parts.ts";

/** What is switched off to show that tests would notice. */
export type TestFault = "no_deduplication" | "commit_at_read";

/** What an owner works with. */
interface OwnerOptions {
  /** Its name in the log. */
  readonly partition: string;
  /** Unique among all claims. */
  readonly claim: string;
  /** 0: the partition has no counters. */
  readonly counterHorizonMs: number;
  readonly shape: WindowShape;
  readonly limits: TableLimits;
  readonly capacityPaneMs: number;
  readonly ingest: IngestOptions;
  readonly counts: IngestCounts;
  readonly accepted: AcceptedRecords;
  /** Bytes of records that may wait for being read back; beyond them no more are taken. */
  readonly maxPendingBytes: number;
  readonly clock: Clock;
  readonly fault: TestFault | null;
  readonly onRefused: OnRefused;
  readonly speaking?: SpeakingParts | undefined;
  /** Who speaks in this partition, in place of what `speaking` says. */
  readonly speakers?: Speakers;
  readonly onRefusedRate: () => void;
  /** Hears of each record of which something was refused. */
  readonly onRefusedRecord: (record: BusRecord, reason: Refused) => void;
  /**
   * Hears of each record that is counted; what it gives is called when it is in the windows, or somebody
   * else's.
   */
  readonly onTaken: (record: BusRecord) => (() => void) | null;
  readonly onReplayed: () => void;
  /** Resolves when the log has them; tries until it does or the signal is aborted. */
  readonly publish: (records: readonly OutgoingRecord[], signal: AbortSignal) => Promise<void>;
  readonly onCommitFailed: (error: unknown) => void;
  /** Hears how long (ms) a batch waited for room; it comes again when that was for too long. */
  readonly onWaited: (waitedMs: number) => void;
}

/** A delta between its drawing and its being read back. */
export interface DrawnDelta {
  readonly from: number;
  readonly to: number;
  readonly contributions: Contributions;
  readonly index: DeltaIndex;
  readonly newestMs: number;
  /** Event time of the newest point of some of its records, for the age of data. */
  readonly sampleTimesMs: readonly number[];
  readonly drawnAtMs: number;
  /** To be called when it is in the windows, or never will be. */
  readonly endings: readonly (() => void)[];
}

/** How long a batch waits for room before it is to come again. */
const MAX_WAIT_MS = 5000;

/** Of a delta's records, how many ages are observed. */
const MAX_SAMPLE_TIMES = 4096;

/**
 * One replica's ownership of one input partition: from the claim, over the records that it takes and the
 * deltas that it draws from them, to the hand-over. Nothing it took is in any graph before its delta was read
 * back from the log.
 */
export class PartitionOwner {
  readonly claim: string;
  readonly partition: string;
  readonly ingest: Ingest;
  readonly #options: OwnerOptions;
  readonly #deltas: DeltaTables;
  readonly #sequences: OwnedSequences;
  readonly #dropped: DroppedReports;
  readonly #horizon: CommitHorizon;
  readonly #released = new AbortController();
  readonly #confirmed = Promise.withResolvers<void>();
  #claimPosition: number | null = null;
  /** The chain's end; null when the partition never had one. */
  #next: number | null = null;
  /** Records before were contained in somebody's delta when the claim was read back. */
  #startAt = 0;
  /** The offset after the last record that was taken. */
  #position: number | null = null;
  #isReplaying = false;
  #inFlight: DrawnDelta | null = null;
  #inFlightBytes = 0;
  #pendingBytes = 0;
  #newestMs = 0;
  #sampleTimesMs: number[] = [];
  #endings: (() => void)[] = [];
  #commit: ((offset: number) => Promise<void>) | null = null;
  #committed = -1;
  #progress = Promise.withResolvers<void>();

  constructor(options: OwnerOptions) {
    this.#options = options;
    this.claim = options.claim;
    this.partition = options.partition;
    const { shape, limits, capacityPaneMs, accepted, ingest } = options;
    this.#deltas = new DeltaTables(shape, limits, capacityPaneMs, options.onRefusedRate);
    this.#sequences = new OwnedSequences(accepted, ingest.maxSources);
    this.#dropped = new DroppedReports(ingest.maxSources, (source, epoch) => accepted.dropped(source, epoch));
    this.#horizon = new CommitHorizon(options.counterHorizonMs);
    this.ingest = new Ingest(this.#deltas, ingest, {
      ...options.speaking,
      counts: options.counts,
      sequences: options.fault === "no_deduplication" ? NO_SEQUENCES : this.#sequences,
      dropped: this.#dropped,
      onRefused: options.onRefused,
      ...(options.speakers === undefined ? {} : { speakers: options.speakers }),
    });
  }

  /** Aborts when the ownership ends. */
  get released(): AbortSignal {
    return this.#released.signal;
  }

  /** True once the claim was read back. */
  get isConfirmed(): boolean {
    return this.#claimPosition !== null;
  }

  /** Resolves when the claim was read back, or the ownership has ended. */
  get confirmed(): Promise<void> {
    return this.#confirmed.promise;
  }

  /** The claim stands in the log: what was accepted ends at `next`. */
  confirm(claimPosition: number, next: number | null): void {
    this.#claimPosition = claimPosition;
    this.#next = next;
    this.#startAt = next ?? 0;
    this.#isReplaying = next !== null;
    this.#confirmed.resolve();
  }

  /** Takes a batch, once not too much is on its way through the log any more. */
  async take(batch: Batch): Promise<void> {
    if (this.#isFull()) await this.#makeRoom();
    const nowMs = this.#options.clock.now();
    for (const record of batch.records) {
      if (this.#released.signal.aborted) return;
      this.#takeRecord(record, nowMs);
    }
    this.#commit = (offset) => batch.commit(offset);
    if (this.#options.fault === "commit_at_read") await batch.commit();
    if (this.#isFull()) this.flush();
  }

  /** Draws a delta and sends it, unless one is under way or there is nothing new. */
  flush(): void {
    if (this.#inFlight !== null || this.#released.signal.aborted || !this.#hasNews()) return;
    const delta = this.#draw();
    this.#inFlight = delta;
    this.#inFlightBytes = this.#pendingBytes;
    this.#pendingBytes = 0;
    void this.#send(delta);
  }

  /** The delta with this range, if it is the one that is on its way. */
  drawn(from: number, to: number): DrawnDelta | null {
    const delta = this.#inFlight;
    return delta !== null && delta.from === from && delta.to === to ? delta : null;
  }

  /** The delta that was on its way is in everybody's windows. */
  applied(): void {
    this.#next = this.#inFlight?.to ?? this.#next;
    for (const end of this.#inFlight?.endings ?? []) end();
    this.#inFlight = null;
    this.#inFlightBytes = 0;
    this.#wake();
    if (this.#options.fault === "no_deduplication") return;
    void this.commitDone();
  }

  /** Commits what may be. */
  async commitDone(): Promise<void> {
    if (this.#next === null || this.#commit === null) return;
    const offset = this.#horizon.offset(Math.min(this.#next, this.#position ?? 0), this.#options.clock.now());
    if (offset === null || offset <= this.#committed) return;
    const before = this.#committed;
    this.#committed = offset;
    try {
      await this.#commit(offset);
    } catch (error) {
      this.#committed = Math.min(this.#committed, before);
      if (!this.#released.signal.aborted) this.#options.onCommitFailed(error);
    }
  }

  /** Sends the rest, waits until it is read back and commits. Resolves also when `signal` ends it before. */
  async handOver(signal: AbortSignal): Promise<void> {
    const given = new Promise<void>((resolve) => {
      for (const end of [signal, this.#released.signal]) {
        if (end.aborted) resolve();
        else end.addEventListener("abort", () => resolve(), { once: true });
      }
    });
    const ended = (): boolean => signal.aborted || this.#released.signal.aborted;
    while (!ended() && (this.#inFlight !== null || this.#hasNews())) {
      this.flush();
      await Promise.race([this.#progress.promise, given]);
    }
    if (!ended()) await Promise.race([this.commitDone(), given]);
    this.release();
  }

  /** Ends the ownership. What was not read back by now is somebody else's to read again. */
  release(): void {
    this.#released.abort();
    for (const end of [...(this.#inFlight?.endings ?? []), ...this.#endings.splice(0)]) end();
    this.#confirmed.resolve();
    this.#wake();
  }

  /**
   * Postpones the batch when there is none for long: a handler must not hold up a hand-over, and the bus
   * delivers it again.
   */
  async #makeRoom(): Promise<void> {
    const { clock, onWaited } = this.#options;
    const beganMs = clock.monotonic();
    const done = new AbortController();
    const timeout = clock.sleep(MAX_WAIT_MS, done.signal).then(
      () => true,
      () => false,
    );
    let isLate = false;
    while (this.#isFull() && !this.#released.signal.aborted && !isLate) {
      this.flush();
      isLate = await Promise.race([this.#progress.promise.then(() => false), timeout]);
    }
    done.abort();
    onWaited(clock.monotonic() - beganMs);
    if (isLate)
      throw new BusError(
        "postponed",
        `${this.partition} has to wait until what was read of it is in the log`,
      );
  }

  #takeRecord(record: BusRecord, nowMs: number): void {
    const { offset, appendedAtMs } = record;
    // The bus delivers a batch again when its handler failed, or when it lost its place.
    if (this.#position !== null && offset < this.#position && this.#options.fault === null) return;
    if (this.#position === null) this.#begin(record);
    this.#position = offset + 1;
    this.#horizon.note(offset, appendedAtMs);
    if (offset < this.#startAt) {
      this.ingest.replay(record, nowMs);
      this.#options.onReplayed();
      return;
    }
    // What the replay added was for its traces alone.
    if (this.#isReplaying) this.#deltas.drain(nowMs);
    this.#isReplaying = false;
    this.#pendingBytes += record.value.byteLength;
    const refused = this.ingest.take(record, nowMs);
    if (refused !== null) this.#options.onRefusedRecord(record, refused);
    const ending = this.#options.onTaken(record);
    if (ending !== null) this.#endings.push(ending);
    this.#noteTime(this.ingest.newestEventMs);
  }

  #begin({ offset, appendedAtMs }: BusRecord): void {
    if (this.#options.fault === "no_deduplication") {
      this.#next = offset;
      this.#startAt = 0;
      this.#isReplaying = false;
    } else if (this.#next === null) this.#next = offset;
    else this.ingest.believeCountersSince(appendedAtMs);
  }

  #noteTime(newestMs: number): void {
    if (!(newestMs > 0)) return;
    if (newestMs > this.#newestMs) this.#newestMs = newestMs;
    if (this.#sampleTimesMs.length < MAX_SAMPLE_TIMES) this.#sampleTimesMs.push(newestMs);
  }

  #hasNews(): boolean {
    return this.#claimPosition !== null && this.#position !== null && this.#position > (this.#next ?? 0);
  }

  #isFull(): boolean {
    return this.#pendingBytes + this.#inFlightBytes > this.#options.maxPendingBytes;
  }

  #draw(): DrawnDelta {
    const drawnAtMs = this.#options.clock.now();
    const delta = {
      from: this.#next!,
      to: this.#position!,
      contributions: this.#deltas.drain(drawnAtMs),
      index: { sequences: this.#sequences.drain(), dropped: this.#dropped.drain() },
      newestMs: this.#newestMs,
      sampleTimesMs: this.#sampleTimesMs,
      drawnAtMs,
      endings: this.#endings,
    };
    this.#endings = [];
    this.#newestMs = 0;
    this.#sampleTimesMs = [];
    return delta;
  }

  async #send({ from, to, contributions, index, newestMs, drawnAtMs }: DrawnDelta): Promise<void> {
    const { partition, claim } = this;
    const bodies = bodiesOf(index, contributions, this.#options.shape);
    const claimPosition = this.#claimPosition!;
    const head = { partition, claim, claimPosition, from, to, drawnAtMs, newestMs };
    await this.#options.publish(deltaRecords(head, bodies), this.#released.signal);
  }

  #wake(): void {
    const { resolve } = this.#progress;
    this.#progress = Promise.withResolvers();
    resolve();
  }
}

const NO_SEQUENCES: RecordSequences = { observe: () => "new", missing: 0, outstanding: 0 };
