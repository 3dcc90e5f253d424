import type { Batch, Bus, BusRecord, TopicPartition } from "@isochrone/bus";
import { periodic, type Clock, type Logger, type Periodic, type Random } from "@isochrone/runtime";
import { OtlpError, STATE_TOPICS, TOPICS } from "@isochrone/telemetry";
import { createIngestCounts, type IngestCounts } from "../domain/ingest/ingest-counts.ts";
import type { IngestOptions, OnRefused, SpeakingParts } from "../domain/ingest/ingest.ts";
import {
  claimRecord,
  deltaEntry,
  readPaneRecord,
  type DeltaBody,
  type DeltaHead,
} from "../domain/log/pane-record.ts";
import type { SourceClock } from "../domain/ingest/source-clocks.ts";
import type { TableLimits, Tables } from "../domain/graphs/tables.ts";
import type { Intake } from "./intake.ts";
import type { SharedMetrics } from "./intake-metrics.ts";
import { BandwidthLog } from "./bandwidth-log.ts";
import { DeadLetters } from "./dead-letters.ts";
import { GroupMembership } from "./group-membership.ts";
import { LogPublisher } from "./log-publisher.ts";
import { LogReader } from "./log-reader.ts";
import { PartitionOwner, type TestFault } from "./partition-owner.ts";
import { PartitionStates } from "./partition-states.ts";
import type { RecordProofs } from "../record-keys/record-proofs.ts";
import { RecordTraces } from "./record-traces.ts";

/** What a shared intake works with. */
export interface SharedIntakeOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly tables: Tables;
  readonly limits: TableLimits;
  readonly capacityPaneMs: number;
  readonly ingest: IngestOptions;
  /** Name of this replica's life, unique. */
  readonly epoch: string;
  readonly onRefused: OnRefused;
  readonly speaking?: SpeakingParts | undefined;
  readonly metrics: SharedMetrics;
  readonly flushIntervalMs: number;
  readonly counterHorizonMs: number;
  /** Bytes of records, of all partitions together, that may wait for being read back. */
  readonly maxPendingBytes: number;
  /** How long an orderly hand-over may take. */
  readonly handOverMs: number;
  readonly fault: TestFault | null;
  /** Proofs of who wrote what. @default nobody asks, and everything is believed */
  readonly proofs?: RecordProofs | undefined;
}

/** All replicas are members of it: each partition has one owner. */
const GROUP = "isochrone-aggregator";
/** A claim that isn't read back within this time is sent again, and given up after a few. */
const CLAIM_TIMEOUT_MS = 5000;
const CLAIM_ATTEMPTS = 4;
/** Least that each partition may have pending, however many there are. */
const MIN_PENDING_BYTES = 1024 * 1024;
/** Series per partition beyond an equal share, because nodes aren't spread equally. */
const SHARE_FACTOR = 4;

/**
 * Input partitions -> deltas -> the log -> the windows of every replica. What decides is the order of the
 * log: see design 3.
 */
export class SharedIntake implements Intake {
  readonly counts: IngestCounts = createIngestCounts();
  readonly #options: SharedIntakeOptions;
  readonly #states: PartitionStates;
  readonly #log: LogReader;
  readonly #publisher: LogPublisher;
  readonly #membership: GroupMembership;
  readonly #bandwidths: BandwidthLog;
  readonly #deadLetters: DeadLetters;
  readonly #traces = new RecordTraces();
  readonly #owners = new Map<string, PartitionOwner>();
  readonly #flushing: Periodic;
  readonly #stopping = new AbortController();
  readonly #inputTopics: readonly string[];
  #starting: Promise<void> | null = null;
  #hasReadLog = false;
  #claims = 0;
  #refusedRates = 0;
  /** Of ownerships that have ended. */
  #pastMissing = 0;
  #pastDropped = 0;

  constructor(options: SharedIntakeOptions) {
    this.#options = options;
    const { bus, clock, random, logger, epoch, tables, metrics, ingest, proofs } = options;
    this.#inputTopics = [...Object.values(TOPICS), ...(proofs?.foreignTopics ?? [])];
    const isOwn = (record: BusRecord): boolean => proofs?.isOwn(record) ?? true;
    this.#states = new PartitionStates(tables, {
      ...ingest,
      isChecking: options.fault !== "no_deduplication",
    });
    this.#publisher = new LogPublisher({ bus, clock, random, logger, metrics });
    this.#deadLetters = new DeadLetters({ bus, clock, logger, metrics });
    this.#bandwidths = new BandwidthLog({
      ...options,
      group: `${GROUP}-graph-${epoch}`,
      isOwn,
      owns: (partition) => this.#owners.has(nameOf({ topic: TOPICS.probe, partition })),
    });
    this.#log = new LogReader({
      bus,
      clock,
      random,
      logger,
      topic: STATE_TOPICS.pane,
      group: `${GROUP}-log-${epoch}`,
      isOwn,
      onRecord: (record) => this.#takeLogRecord(record),
      onLag: (partition, records) =>
        metrics.lag.set({ topic: STATE_TOPICS.pane, partition: String(partition) }, records),
    });
    this.#membership = new GroupMembership({
      ...options,
      group: GROUP,
      topics: this.#inputTopics,
      handlers: {
        onBatch: (batch) => this.#take(batch),
        onAssigned: (partitions) => this.#assigned(partitions),
        onRevoked: (partitions) => this.#revoked(partitions),
      },
      stopping: this.#stopping.signal,
    });
    this.#flushing = periodic({
      clock,
      intervalMs: options.flushIntervalMs,
      run: () => this.#flush(),
      onError: (error) => logger.error("flushing failed", { error }),
    });
  }

  get ownedPartitions(): number {
    return this.#owners.size;
  }

  /** Points of other replicas' deltas that could not be used. Only grows. */
  get refusedDeltaPoints(): number {
    return this.#states.refusedPoints;
  }

  get series(): number {
    return this.#sum(({ ingest }) => ingest.series) + this.#states.series;
  }

  get droppedRecords(): number {
    return this.#pastDropped + this.#sum(({ ingest }) => ingest.droppedRecords);
  }

  get missingRecords(): number {
    return this.#pastMissing + this.#sum(({ ingest }) => ingest.missingRecords);
  }

  get refusedRates(): number {
    return this.#refusedRates;
  }

  *clocks(): Iterable<[string, SourceClock]> {
    for (const { ingest } of this.#owners.values()) yield* ingest.clocks.entries();
  }

  pending(): string[] {
    const unproven = this.#options.proofs?.pending() ?? [];
    if (unproven.length > 0) return unproven;
    if (!this.#hasReadLog) return ["reading the log of what other replicas have counted"];
    return this.#membership.isJoined ? [] : ["joining the consumer group"];
  }

  /** Returns at once: the bus may be away for long. */
  async start(): Promise<void> {
    this.#starting ??= this.#begin();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#starting;
    await this.#membership.close();
    await this.#flushing.stop();
    for (const owner of this.#owners.values()) this.#release(owner);
    await Promise.all([this.#log.close(), this.#bandwidths.close()]);
  }

  async #begin(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      // Refusing what can't be judged yet would lose it.
      await this.#options.proofs?.known(signal);
      await Promise.all([this.#log.readToEnd(signal), this.#bandwidths.readToEnd(signal)]);
      this.#hasReadLog = true;
      this.#flushing.start();
      await this.#membership.join();
    } catch (error) {
      if (!signal.aborted) this.#options.logger.error("the intake could not start", { error });
    }
  }

  async #take(batch: Batch): Promise<void> {
    const { topic, partition, records, endOffset } = batch;
    const { metrics } = this.#options;
    metrics.batchRecords.observe(records.length);
    if (endOffset !== null) {
      const lag = Math.max(0, endOffset - records.at(-1)!.offset - 1);
      metrics.lag.set({ topic, partition: String(partition) }, lag);
    }
    await this.#owners.get(nameOf(batch))?.take(batch);
  }

  /** Claims the partitions; the bus hands out their records only when this has settled. */
  async #assigned(partitions: readonly TopicPartition[]): Promise<void> {
    const counts = new Map<string, number>();
    for (const topic of new Set(partitions.map((partition) => partition.topic)))
      counts.set(topic, await this.#options.bus.partitionCount(topic));
    const owners = partitions.map((each) => this.#createOwner(each, counts.get(each.topic)!));
    await Promise.all(owners.map((owner) => this.#claim(owner)));
  }

  async #claim(owner: PartitionOwner): Promise<void> {
    const signal = AbortSignal.any([owner.released, this.#stopping.signal]);
    for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
      const done = new AbortController();
      const ended = AbortSignal.any([signal, done.signal]);
      const timeout = this.#options.clock.sleep(CLAIM_TIMEOUT_MS, ended).catch(() => undefined);
      // A bus that doesn't answer must not keep the partition from being tried again.
      void this.#publisher.publish([claimRecord(owner.partition, owner.claim)], ended);
      await Promise.race([owner.confirmed, timeout]);
      done.abort();
      if (owner.isConfirmed || owner.released.aborted) return;
    }
    this.#release(owner);
    throw new Error(
      `the claim of ${owner.partition} must be read back within ${CLAIM_ATTEMPTS * CLAIM_TIMEOUT_MS} ms`,
    );
  }

  async #revoked(partitions: readonly TopicPartition[]): Promise<void> {
    const { clock, handOverMs, metrics } = this.#options;
    const deadline = new AbortController();
    const done = new AbortController();
    void clock.sleep(handOverMs, done.signal).then(
      () => deadline.abort(),
      () => undefined,
    );
    const owners = partitions
      .map((partition) => this.#owners.get(nameOf(partition)))
      .filter((owner) => owner !== undefined);
    await Promise.all(owners.map((owner) => owner.handOver(deadline.signal)));
    done.abort();
    for (const owner of owners) this.#release(owner);
    for (const { topic, partition } of partitions)
      metrics.lag.remove({ topic, partition: String(partition) });
  }

  #createOwner(partition: TopicPartition, partitionCount: number): PartitionOwner {
    const { epoch, tables, metrics, counterHorizonMs, maxPendingBytes, ingest, proofs } = this.#options;
    const name = nameOf(partition);
    const before = this.#owners.get(name);
    if (before !== undefined) this.#release(before);
    const share = Math.ceil((SHARE_FACTOR * ingest.maxSeries) / partitionCount);
    const owner = new PartitionOwner({
      ...this.#options,
      partition: name,
      claim: `${epoch}-${++this.#claims}`,
      shape: tables.shape,
      counterHorizonMs: partition.topic === TOPICS.probe ? 0 : counterHorizonMs,
      ...(proofs === undefined ? {} : { speakers: proofs.speakersOf(partition) }),
      ingest: { ...ingest, maxSeries: Math.min(ingest.maxSeries, share) },
      counts: this.counts,
      accepted: this.#states.of(name).accepted,
      maxPendingBytes: Math.max(
        MIN_PENDING_BYTES,
        maxPendingBytes / (partitionCount * this.#inputTopics.length),
      ),
      onRefusedRate: () => this.#refusedRates++,
      onReplayed: () => metrics.replayed.inc(),
      onWaited: (waitedMs) => metrics.waitSeconds.observe(waitedMs / 1000),
      onRefusedRecord: (record, reason) => this.#deadLetters.offer(record, reason),
      onTaken: (record) => this.#traces.begin(record),
      publish: (records, signal) => this.#publish(records, signal),
      onCommitFailed: (error) =>
        this.#options.logger.warnOnce(`commit:${name}`, "commit failed, the next commit includes it", {
          partition: name,
          error,
        }),
    });
    this.#owners.set(name, owner);
    return owner;
  }

  async #publish(...[records, signal]: Parameters<LogPublisher["publish"]>): Promise<void> {
    const { metrics } = this.#options;
    metrics.deltaRecords.inc(records.length);
    metrics.deltaBytes.inc(records.reduce((sum, { value }) => sum + value.byteLength, 0));
    await this.#publisher.publish(records, signal);
  }

  #release(owner: PartitionOwner): void {
    owner.release();
    if (this.#owners.get(owner.partition) !== owner) return;
    this.#owners.delete(owner.partition);
    this.#pastMissing += owner.ingest.missingRecords;
    this.#pastDropped += owner.ingest.droppedRecords;
  }

  #flush(): void {
    for (const owner of this.#owners.values()) {
      owner.flush();
      void owner.commitDone();
    }
    void this.#bandwidths.write();
  }

  #takeLogRecord(record: BusRecord): void {
    const read = readPaneRecord(record.headers);
    if (read === null) this.#options.metrics.deltas.inc({ verdict: "unreadable" });
    else if (read.kind === "claim") this.#takeClaim(read.partition, read.claim, record.offset);
    else this.#takeDelta(read.head, read.part, { kind: read.body, value: record.value });
  }

  #takeClaim(partition: string, claim: string, position: number): void {
    const { chain } = this.#states.of(partition);
    if (chain.take({ kind: "claim", claim, position }).kind !== "claimed") return;
    const owner = this.#owners.get(partition);
    if (owner === undefined) return;
    if (owner.claim === claim) owner.confirm(position, chain.next);
    else if (owner.isConfirmed) this.#supersede(owner);
  }

  /** Somebody else owns what this replica meant to own: the group has gone on without it. */
  #supersede(owner: PartitionOwner): void {
    const { logger, metrics } = this.#options;
    logger.warn("another replica claimed a partition of this one; rejoining the consumer group", {
      partition: owner.partition,
    });
    metrics.superseded.inc();
    this.#release(owner);
    this.#membership.rejoin();
  }

  #takeDelta(head: DeltaHead, part: number, body: DeltaBody): void {
    const verdict = this.#states.of(head.partition).chain.take(deltaEntry(head, part, body));
    if (verdict.kind === "accepted") this.#apply(head, verdict.bodies);
    else if (verdict.kind === "refused") {
      this.#options.metrics.deltas.inc({ verdict: verdict.reason });
      const owner = this.#owners.get(head.partition);
      if (owner?.claim === head.claim) this.#supersede(owner);
    } else if (verdict.kind === "repeat") this.#options.metrics.deltas.inc({ verdict: "repeat" });
  }

  #apply(head: DeltaHead, bodies: readonly DeltaBody[]): void {
    const { clock, metrics, logger } = this.#options;
    const nowMs = clock.now();
    const owner = this.#owners.get(head.partition);
    const own = owner?.claim === head.claim ? owner.drawn(head.from, head.to) : null;
    if (owner !== undefined && own !== null) {
      this.#states.applyOwn(head.partition, own, nowMs);
      for (const { source, target } of own.contributions.pairs) this.#bandwidths.changed(source, target);
      owner.applied();
      metrics.deltas.inc({ verdict: "own" });
      metrics.flushSeconds.observe((nowMs - own.drawnAtMs) / 1000);
      for (const timeMs of own.sampleTimesMs) metrics.ageSeconds.observe((nowMs - timeMs) / 1000);
      return;
    }
    try {
      const used = this.#states.applyForeign(head, bodies, nowMs);
      metrics.deltas.inc({ verdict: used ? "foreign" : "old" });
    } catch (error) {
      if (!(error instanceof OtlpError)) throw error;
      metrics.deltas.inc({ verdict: "unreadable" });
      logger.warnOnce("delta:unreadable", "a delta can't be read", { partition: head.partition, error });
    }
  }

  #sum(value: (owner: PartitionOwner) => number): number {
    let sum = 0;
    for (const owner of this.#owners.values()) sum += value(owner);
    return sum;
  }
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}
