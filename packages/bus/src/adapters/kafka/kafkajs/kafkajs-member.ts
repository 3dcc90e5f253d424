import { pause } from "@isochrone/runtime";

import type { TopicPartition } from "../../../ports/port.ts";
import type { KafkaMember, MemberOptions, PartitionOffset, Position } from "../client/client.ts";
import { Fetcher } from "../client/fetcher.ts";
import { isRefusal } from "../client/kafka-errors.ts";
import { EARLIEST, KafkajsCluster, LATEST } from "./kafkajs-cluster.ts";
import { brokerErrorName, kafkajsError } from "./kafkajs-errors.ts";
import { KafkajsGroup } from "./kafkajs-group.ts";
import { KafkajsFetchRequests } from "./kafkajs-requests.ts";
import type { KafkaClientOptions } from "../client/options.ts";
import { partitionKey } from "../client/records.ts";
import { retryDelayMs } from "../client/retry-delay.ts";

const COMMIT_TRIES = 3;
const LEAVE_DEADLINE_MS = 3_000;

/**
 * A member of a group of the classic protocol: with every rebalance it gives back all partitions, and gets
 * most of them again.
 */
export class KafkajsMember implements KafkaMember {
  readonly #options: KafkaClientOptions;
  readonly #member: MemberOptions;
  /** Its own connections: a join may keep one busy for as long as a rebalance takes. */
  readonly #cluster: KafkajsCluster;
  readonly #group: KafkajsGroup;
  readonly #fetcher: Fetcher;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #assigned: readonly TopicPartition[] = [];
  #closed: Promise<void> | null = null;

  constructor(options: KafkaClientOptions, member: MemberOptions) {
    this.#options = options;
    this.#member = member;
    this.#cluster = new KafkajsCluster(options);
    this.#group = new KafkajsGroup(options, this.#cluster, member.group, member.topics);
    this.#fetcher = new Fetcher(options, new KafkajsFetchRequests(options, this.#cluster), member.events);
    this.#running = this.#run();
  }

  async positions(partitions: readonly TopicPartition[]): Promise<readonly Position[]> {
    const { group } = this.#member;
    try {
      const committed = await this.#group.committed(partitions);
      return await Promise.all(
        committed.map(async ({ topic, partition, offset }) => {
          const [startOffset, endOffset] = await Promise.all([
            this.#cluster.offsetAt({ topic, partition }, EARLIEST),
            this.#cluster.offsetAt({ topic, partition }, LATEST),
          ]);
          return {
            topic,
            partition,
            committed: offset < 0 ? null : offset,
            startOffset,
            endOffset,
            sinceOffset: null,
          };
        }),
      );
    } catch (error) {
      for (const { topic } of partitions) this.#cluster.forget(topic);
      throw kafkajsError(error, `asking for the offsets of group ${group}`);
    }
  }

  read(position: PartitionOffset): void {
    if (this.#assigned.some((each) => partitionKey(each) === partitionKey(position)))
      this.#fetcher.read(position);
  }

  pause(partition: TopicPartition): void {
    this.#fetcher.pause(partition);
  }

  resume(partition: TopicPartition): void {
    this.#fetcher.resume(partition);
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#group.commit(offsets);
      } catch (cause) {
        const error = kafkajsError(cause, `committing of group ${this.#member.group}`);
        const passing = error.code === "unavailable" || error.code === "timeout";
        if (!passing || attempt === COMMIT_TRIES) throw error;
        await this.#options.clock.sleep(retryDelayMs(this.#options, attempt));
      }
    }
  }

  async close(): Promise<void> {
    this.#closed ??= this.#shutDown();
    await this.#closed;
  }

  async #shutDown(): Promise<void> {
    this.#closing.abort();
    // Everything else ends by itself, in order.
    this.#cluster.endJoins();
    await this.#running;
    await this.#leave();
    this.#cluster.close();
    await this.#fetcher.close();
  }

  async #leave(): Promise<void> {
    const left = new AbortController();
    // Whom the group does not hear of it will miss.
    const leaving = this.#group.leave().catch(() => undefined);
    await Promise.race([leaving, pause(this.#options.clock, LEAVE_DEADLINE_MS, left.signal)]);
    left.abort();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    for (let failures = 0; !this.#closing.signal.aborted;) {
      try {
        await this.#join();
        failures = 0;
        await this.#untilOver();
      } catch (error) {
        if (this.#closing.signal.aborted) break;
        failures += 1;
        this.#report("joining", error);
        await this.#pause(error, failures);
      }
    }
  }

  async #join(): Promise<void> {
    try {
      this.#assigned = await this.#group.join();
    } catch (error) {
      // Whoever has no valid generation holds nothing; the next join asks for a place anew.
      this.#group.lost(false);
      throw error;
    }
    this.#member.events.onJoined();
    if (this.#assigned.length > 0) void this.#member.events.onAssigned(this.#assigned);
  }

  /**
   * Heartbeats until the group forms anew, has lost this member, or the member closes; gives the partitions
   * back. Never rejects.
   */
  async #untilOver(): Promise<void> {
    const { clock, heartbeatIntervalMs } = this.#options;
    let state: "ok" | "rebalance" | "lost" = "ok";
    let heardMs = clock.monotonic();
    while (state === "ok" && !this.#closing.signal.aborted) {
      await pause(clock, heartbeatIntervalMs, this.#closing.signal);
      if (this.#closing.signal.aborted) break;
      [state, heardMs] = await this.#heartbeat(heardMs);
    }
    const partitions = this.#assigned;
    this.#fetcher.drop(partitions);
    if (state === "lost") {
      this.#assigned = [];
      this.#group.lost(true);
      await this.#member.events.onLost(partitions);
    } else {
      await this.#revoke(partitions, heardMs);
      this.#assigned = [];
    }
  }

  /** A member that gives partitions back stays one meanwhile. */
  async #revoke(partitions: readonly TopicPartition[], heardMs: number): Promise<void> {
    const { clock, heartbeatIntervalMs } = this.#options;
    const done = new AbortController();
    const revoking = this.#member.events.onRevoked(partitions).finally(() => done.abort());
    let lastMs = heardMs;
    for (let lost = false; !done.signal.aborted;) {
      await pause(clock, heartbeatIntervalMs, done.signal);
      if (done.signal.aborted || lost) continue;
      const [state, atMs] = await this.#heartbeat(lastMs);
      lastMs = atMs;
      lost = state === "lost";
      if (lost) this.#group.lost(true);
    }
    await revoking;
  }

  /**
   * The group's word, and when it was last heard of. Who hears nothing for the length of a session is lost.
   */
  async #heartbeat(heardMs: number): Promise<["ok" | "rebalance" | "lost", number]> {
    const { clock, sessionTimeoutMs } = this.#options;
    try {
      return [await this.#group.heartbeat(), clock.monotonic()];
    } catch (error) {
      this.#report("heartbeat", error);
      return [clock.monotonic() - heardMs > sessionTimeoutMs ? "lost" : "ok", heardMs];
    }
  }

  #report(what: string, cause: unknown): void {
    const doing = `${what} of group ${this.#member.group}`;
    if (this.#closing.signal.aborted) return;
    // Part of every hand-over of the group to another broker, and of every rebalance.
    const name = brokerErrorName(cause);
    if (name === "REBALANCE_IN_PROGRESS" || name === "UNKNOWN_MEMBER_ID") return;
    this.#member.events.onProblem(doing, kafkajsError(cause, doing));
  }

  async #pause(cause: unknown, failures: number): Promise<void> {
    const refused = isRefusal(kafkajsError(cause, "joining"));
    const ms = refused ? this.#options.retryMaxMs : retryDelayMs(this.#options, failures);
    await pause(this.#options.clock, ms, this.#closing.signal);
  }
}
