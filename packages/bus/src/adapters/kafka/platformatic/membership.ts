import { randomUUID } from "node:crypto";

import { pause } from "@isochrone/runtime";

import type { BusError } from "../../../ports/errors.ts";
import type { TopicPartition } from "../../../ports/port.ts";
import type { MemberEvents, PartitionOffset } from "../client/client.ts";
import { kafkaError } from "../client/kafka-errors.ts";
import type { KafkaClientOptions } from "../client/options.ts";
import { partitionKey } from "../client/records.ts";
import { retryDelayMs } from "../client/retry-delay.ts";
import type { Cluster } from "./cluster.ts";
import { brokerErrorName, mapError } from "./errors.ts";
import { GroupCoordinator, JOINING } from "./group-coordinator.ts";
import type { AssignedTopic, MemberIdentity } from "./group-coordinator.ts";

/** A partition as the group protocol names it. */
interface Owned extends TopicPartition {
  readonly topicId: string;
}

/** A commit under a member epoch that has just moved on is tried again with the new one. */
const COMMIT_ATTEMPTS = 5;
/** Leaving is a courtesy: it gets this long. */
const LEAVE_GRACE_MS = 2_000;

/**
 * One membership in a group of the protocol of KIP-848: the coordinator assigns, the member heartbeats what
 * it owns, gives up what it is no longer assigned, and takes what is new. What stays with it is never
 * touched.
 *
 * The library's own Consumer can't be used for it: it acknowledges a revocation before anybody could finish
 * work on it, and rewinds every partition to its last commit at each change. So only its codecs and
 * connections are.
 */
export class Membership {
  readonly #cluster: Cluster;
  readonly #options: KafkaClientOptions;
  readonly #group: string;
  readonly #topics: readonly string[];
  readonly #events: MemberEvents;
  readonly #onGone: (partitions: readonly TopicPartition[]) => void;
  /** No more partitions are taken. */
  readonly #closed = new AbortController();
  /** No more heartbeats. */
  readonly #ended = new AbortController();
  readonly #owned = new Map<string, Owned>();
  readonly #topicNames = new Map<string, string>();
  readonly #coordinator: GroupCoordinator;
  #me: MemberIdentity = newcomer();
  /** What the coordinator assigned last; null when it has said nothing new since. */
  #assigned: { readonly memberId: string; readonly topics: readonly AssignedTopic[] } | null = null;
  #reconciling: Promise<void> | null = null;
  #heardAtMs: number;
  #wake = new AbortController();
  #supported = false;
  readonly #loop: Promise<void>;

  constructor(deps: {
    readonly cluster: Cluster;
    readonly options: KafkaClientOptions;
    readonly group: string;
    readonly topics: readonly string[];
    readonly events: MemberEvents;
    /** These are no longer to be fetched. */
    readonly onGone: (partitions: readonly TopicPartition[]) => void;
  }) {
    this.#cluster = deps.cluster;
    this.#options = deps.options;
    this.#coordinator = new GroupCoordinator(deps.cluster, deps.group);
    this.#group = deps.group;
    this.#topics = deps.topics;
    this.#events = deps.events;
    this.#onGone = deps.onGone;
    this.#heardAtMs = deps.options.clock.monotonic();
    this.#loop = this.#run();
  }

  owns(partition: TopicPartition): boolean {
    return this.#owned.has(partitionKey(partition));
  }

  /** The group's offsets of these partitions, by their keys; null where it never committed. */
  async committed(partitions: readonly TopicPartition[]): Promise<Map<string, number | null>> {
    try {
      return await this.#coordinator.committed(this.#me, partitions);
    } catch (error) {
      throw mapError(error, `asking for the offsets of group ${this.#group}`);
    }
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#commitOnce(offsets);
        return;
      } catch (error) {
        const again =
          attempt < COMMIT_ATTEMPTS && (brokerErrorName(error) === "STALE_MEMBER_EPOCH" || isPassing(error));
        if (!again) throw mapError(error, `committing offsets of group ${this.#group}`);
        await this.#backOff(attempt);
      }
    }
  }

  /** Gives everything back and leaves. Never rejects. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#reconciling;
    // Commits in onRevoked need a member that is still alive: heartbeats go on until here.
    await this.#giveUp([...this.#owned.values()]);
    this.#ended.abort();
    this.#wake.abort();
    const left = this.#loop.then(() => this.#leave()).catch(() => undefined);
    const grace = new AbortController();
    await Promise.race([left, pause(this.#options.clock, LEAVE_GRACE_MS, grace.signal)]);
    grace.abort();
  }

  /** Heartbeats until the end. Never rejects. */
  async #run(): Promise<void> {
    for (let failures = 0; !this.#ended.signal.aborted;) {
      try {
        await this.#heartbeat();
        failures = 0;
      } catch (error) {
        failures += 1;
        await this.#failed(error, failures);
        continue;
      }
      await this.#waitFor(this.#options.heartbeatIntervalMs);
    }
  }

  async #heartbeat(): Promise<void> {
    await this.#checkSupport();
    const joining = this.#me.epoch === JOINING;
    const owned = joining ? [] : byTopicId([...this.#owned.values()]);
    const { rebalanceTimeoutMs } = this.#options;
    const answer = await this.#coordinator
      .heartbeat(this.#me, this.#topics, owned, rebalanceTimeoutMs)
      .catch((error: unknown) => {
        // The broker knows the protocol, and somebody has switched it off.
        throw brokerErrorName(error) === "UNSUPPORTED_VERSION" ? this.#unsupported(error) : error;
      });
    this.#heardAtMs = this.#options.clock.monotonic();
    this.#me = { id: this.#me.id, epoch: answer.memberEpoch };
    if (answer.assignment)
      this.#assigned = { memberId: this.#me.id, topics: answer.assignment.topicPartitions };
    if (joining) this.#events.onJoined();
    if (this.#assigned !== null && this.#reconciling === null && !this.#closed.signal.aborted)
      this.#reconciling = this.#reconcile();
  }

  /**
   * Brings what is owned to what is assigned, in the background: heartbeats go on meanwhile. Never rejects.
   */
  async #reconcile(): Promise<void> {
    await Promise.resolve();
    while (this.#assigned !== null && !this.#closed.signal.aborted) {
      const assigned = this.#assigned;
      this.#assigned = null;
      try {
        await this.#moveTo(assigned.topics, assigned.memberId);
      } catch (error) {
        // Told again with the next heartbeat.
        this.#events.onProblem(
          `taking partitions of group ${this.#group}`,
          mapError(error, "reading metadata"),
        );
        break;
      }
    }
    this.#reconciling = null;
  }

  async #moveTo(assigned: readonly AssignedTopic[], memberId: string): Promise<void> {
    const target = new Map<string, Owned>();
    for (const owned of await this.#named(assigned)) target.set(partitionKey(owned), owned);
    if (memberId !== this.#me.id) return;
    // A topic made anew has another id: the old partitions are gone with it.
    const revoked = [...this.#owned.entries()]
      .filter(([key, { topicId }]) => target.get(key)?.topicId !== topicId)
      .map(([, owned]) => owned);
    if (revoked.length > 0) {
      await this.#giveUp(revoked);
      this.#heartbeatNow();
    }
    const added = [...target].filter(([key]) => !this.#owned.has(key));
    // Lost meanwhile: this assignment was another member's.
    if (added.length === 0 || memberId !== this.#me.id || this.#closed.signal.aborted) return;
    for (const [key, owned] of added) this.#owned.set(key, owned);
    this.#heartbeatNow();
    void this.#events.onAssigned(added.map(([, owned]) => plain(owned)));
  }

  /** Until the promise settles the coordinator believes that they are ours. */
  async #giveUp(revoked: readonly Owned[]): Promise<void> {
    if (revoked.length === 0) return;
    const partitions = revoked.map(plain);
    this.#onGone(partitions);
    await this.#events.onRevoked(partitions);
    // By identity: they may have been lost meanwhile, and assigned anew.
    for (const owned of revoked) {
      const key = partitionKey(owned);
      if (this.#owned.get(key) === owned) this.#owned.delete(key);
    }
  }

  /** Everything is gone already; the member begins anew, under another name. */
  async #lose(): Promise<void> {
    const partitions = [...this.#owned.values()].map(plain);
    const previous = this.#me;
    this.#owned.clear();
    this.#assigned = null;
    this.#me = newcomer();
    this.#heardAtMs = this.#options.clock.monotonic();
    this.#onGone(partitions);
    // The coordinator may still keep partitions for the previous member.
    void this.#coordinator.leave(previous.id).catch(() => undefined);
    if (partitions.length > 0) await this.#events.onLost(partitions);
  }

  async #failed(cause: unknown, failures: number): Promise<void> {
    const { clock, sessionTimeoutMs } = this.#options;
    const error = mapError(cause, `heartbeating in group ${this.#group}`);
    const silentMs = clock.monotonic() - this.#heardAtMs;
    const fenced = error.code === "not_assigned";
    if (!this.#closed.signal.aborted) {
      if (!isPassing(cause) || failures > 3)
        this.#events.onProblem(`heartbeating in group ${this.#group}`, error);
      if (fenced || (silentMs > sessionTimeoutMs && this.#me.epoch !== JOINING)) await this.#lose();
    }
    await this.#backOff(failures, error);
  }

  /** Names of the topics in an assignment: it carries ids only. */
  async #named(assigned: readonly AssignedTopic[]): Promise<Owned[]> {
    if (assigned.some(({ topicId }) => !this.#topicNames.has(topicId))) {
      for (const topic of this.#topics) {
        this.#cluster.forget(topic);
        const found = await this.#cluster
          .topic(topic)
          .catch((error: unknown) => this.#reportTopic(topic, error));
        if (found) this.#topicNames.set(found.id, topic);
      }
    }
    return assigned.flatMap(({ topicId, partitions }) => {
      const topic = this.#topicNames.get(topicId);
      return topic === undefined ? [] : partitions.map((partition) => ({ topicId, topic, partition }));
    });
  }

  #reportTopic(topic: string, error: unknown): null {
    this.#events.onProblem(`subscribing to ${topic}`, mapError(error, `subscribing to ${topic}`));
    return null;
  }

  async #checkSupport(): Promise<void> {
    if (this.#supported) return;
    if (!(await this.#cluster.supports("ConsumerGroupHeartbeat", 1))) throw this.#unsupported();
    for (const topic of this.#topics)
      await this.#cluster.topic(topic).catch((error: unknown) => this.#reportTopic(topic, error));
    this.#supported = true;
  }

  #unsupported(cause?: unknown): BusError {
    const needs = `group ${this.#group} needs brokers of Kafka 4.0 or newer with their group protocol (KIP-848) on`;
    return kafkaError("rejected", `${needs}; for others choose the client kafkajs`, cause);
  }

  async #commitOnce(offsets: readonly PartitionOffset[]): Promise<void> {
    const open = offsets.filter((partition) => this.owns(partition));
    if (open.length < offsets.length)
      throw kafkaError("not_assigned", `group ${this.#group} has given partitions to another member`);
    try {
      await this.#coordinator.commit(this.#me, offsets);
    } catch (error) {
      // A member that was thrown out, or has a new epoch, is to know it at once.
      if ((brokerErrorName(error) ?? "").includes("MEMBER")) this.#heartbeatNow();
      throw error;
    }
  }

  async #leave(): Promise<void> {
    // Even when it never heard that it had joined: an answer may have been lost.
    if (this.#coordinator.found) await this.#coordinator.leave(this.#me.id);
  }

  #heartbeatNow(): void {
    this.#wake.abort();
  }

  async #waitFor(ms: number): Promise<void> {
    await pause(this.#options.clock, ms, this.#wake.signal);
    if (this.#wake.signal.aborted) this.#wake = new AbortController();
  }

  async #backOff(failures: number, error?: BusError): Promise<void> {
    const ms = Math.max(error?.retryAfterMs ?? 0, retryDelayMs(this.#options, failures));
    await pause(this.#options.clock, ms, this.#ended.signal);
  }
}

/** Trouble that a broker's restart or a coordinator's move explains. */
function isPassing(error: unknown): boolean {
  const name = brokerErrorName(error);
  if (name !== null) return /COORDINATOR|NOT_LEADER|REQUEST_TIMED_OUT/.test(name);
  const { code } = mapError(error, "");
  return code === "unavailable" || code === "timeout";
}

function newcomer(): MemberIdentity {
  return { id: randomUUID(), epoch: JOINING };
}

function byTopicId(owned: readonly Owned[]): AssignedTopic[] {
  const topics = new Map<string, number[]>();
  for (const { topicId, partition } of owned)
    topics.set(topicId, [...(topics.get(topicId) ?? []), partition]);
  return [...topics].map(([topicId, partitions]) => ({ topicId, partitions }));
}

function plain({ topic, partition }: Owned): TopicPartition {
  return { topic, partition };
}
