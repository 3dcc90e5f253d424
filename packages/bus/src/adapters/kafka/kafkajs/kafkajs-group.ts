import { pause } from "@isochrone/runtime";
import kafkajs from "kafkajs";

import type { TopicPartition } from "../../../ports/port.ts";
import type { PartitionOffset } from "../client/client.ts";
import { kafkaError } from "../client/kafka-errors.ts";
import { assignPartitions } from "./kafkajs-assign.ts";
import type { AssignMember } from "./kafkajs-assign.ts";
import type { KafkajsCluster } from "./kafkajs-cluster.ts";
import { brokerErrorName } from "./kafkajs-errors.ts";
import type { KafkaClientOptions } from "../client/options.ts";
import { byTopic } from "../client/records.ts";

const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;

const PROTOCOL = "isochrone-sticky";
const PROTOCOL_VERSION = 1;
/** The group is with another broker now, or not yet ready there. */
const COORDINATOR_MOVED = new Set([
  "NOT_COORDINATOR_FOR_GROUP",
  "GROUP_COORDINATOR_NOT_AVAILABLE",
  "GROUP_LOAD_IN_PROGRESS",
]);

interface JoinAnswer {
  readonly generationId: number;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
}

/** The requests of a group's member, and what they depend on: coordinator, member id, generation. */
export class KafkajsGroup {
  readonly #options: KafkaClientOptions;
  readonly #cluster: KafkajsCluster;
  readonly #group: string;
  readonly #topics: readonly string[];
  #coordinator: number | null = null;
  #memberId = "";
  #generationId: number | null = null;
  #previous: readonly TopicPartition[] = [];
  /** Partitions by topic when this member, as the leader, shared them out. */
  #shared: ReadonlyMap<string, number> | null = null;

  constructor(
    options: KafkaClientOptions,
    cluster: KafkajsCluster,
    group: string,
    topics: readonly string[],
  ) {
    this.#options = options;
    this.#cluster = cluster;
    this.#group = group;
    this.#topics = topics;
  }

  /**
   * Joins and gets its partitions. Waits for the group's other members, at most for the rebalance timeout.
   */
  async join(): Promise<readonly TopicPartition[]> {
    const joined = await this.#join();
    this.#memberId = joined.memberId;
    const groupAssignment = joined.leaderId === joined.memberId ? await this.#shareOut(joined) : [];
    const answer = (await this.#ask("SyncGroup", {
      generationId: joined.generationId,
      memberId: this.#memberId,
      groupAssignment,
    })) as { readonly memberAssignment: Buffer };
    this.#generationId = joined.generationId;
    const { assignment = {} } = MemberAssignment.decode(answer.memberAssignment) ?? {};
    this.#previous = Object.entries(assignment).flatMap(([topic, partitions]) =>
      this.#topics.includes(topic) ? partitions.map((partition) => ({ topic, partition })) : [],
    );
    return this.#previous;
  }

  /** "rebalance": the group forms anew; "lost": it has gone on without this member. Other failures reject. */
  async heartbeat(): Promise<"ok" | "rebalance" | "lost"> {
    try {
      await this.#ask("Heartbeat", { groupGenerationId: this.#generationId, memberId: this.#memberId });
      return (await this.#hasNewPartitions()) ? "rebalance" : "ok";
    } catch (error) {
      const name = brokerErrorName(error);
      if (name === "REBALANCE_IN_PROGRESS") return "rebalance";
      if (name !== "ILLEGAL_GENERATION" && name !== "UNKNOWN_MEMBER_ID") throw error;
      return "lost";
    }
  }

  /** What was assigned is gone; `forgotten`: the group does not know this member any more. */
  lost(forgotten: boolean): void {
    this.#generationId = null;
    if (forgotten) this.#memberId = "";
  }

  async commit(offsets: readonly PartitionOffset[]): Promise<void> {
    if (this.#generationId === null)
      throw kafkaError("not_assigned", `group ${this.#group} has gone on without this member`);
    await this.#ask("OffsetCommit", {
      groupGenerationId: this.#generationId,
      memberId: this.#memberId,
      topics: byTopic(offsets, ({ partition, offset }) => ({ partition, offset: String(offset) })),
    });
  }

  /** The group's next offsets, by topic and partition; negative where it never committed. */
  async committed(
    partitions: readonly TopicPartition[],
  ): Promise<(TopicPartition & { readonly offset: number })[]> {
    const topics = byTopic(partitions, ({ partition }) => ({ partition }));
    const { responses } = (await this.#ask("OffsetFetch", { topics })) as {
      readonly responses: readonly {
        readonly topic: string;
        readonly partitions: readonly { readonly partition: number; readonly offset: string }[];
      }[];
    };
    return responses.flatMap(({ topic, partitions: found }) =>
      found.map(({ partition, offset }) => ({ topic, partition, offset: Number(offset) })),
    );
  }

  async leave(): Promise<void> {
    const memberId = this.#memberId;
    this.lost(true);
    if (memberId !== "") await this.#ask("LeaveGroup", { memberId });
  }

  async #join(): Promise<JoinAnswer> {
    const userData = Buffer.from(JSON.stringify(this.#previous));
    const metadata = MemberMetadata.encode({
      version: PROTOCOL_VERSION,
      topics: [...this.#topics],
      userData,
    });
    const request = (): Promise<unknown> =>
      this.#ask("JoinGroup", {
        sessionTimeout: this.#options.sessionTimeoutMs,
        rebalanceTimeout: this.#options.rebalanceTimeoutMs,
        memberId: this.#memberId,
        protocolType: "consumer",
        groupProtocols: [{ name: PROTOCOL, metadata }],
      });
    try {
      return (await this.#whileHere(request)) as JoinAnswer;
    } catch (error) {
      if (brokerErrorName(error) === "UNKNOWN_MEMBER_ID") this.#memberId = "";
      // The first answer only tells a newcomer its name.
      if (!isMemberIdRequired(error)) throw error;
      this.#memberId = error.memberId;
      return (await this.#whileHere(request)) as JoinAnswer;
    }
  }

  /**
   * A join may take long, and its broker may vanish meanwhile without a word: the others are asked who has
   * the group now.
   */
  async #whileHere<T>(request: () => Promise<T>): Promise<T> {
    const done = new AbortController();
    const asked = request().finally(() => done.abort());
    const moved = this.#untilMoved(done.signal).then(() => {
      if (done.signal.aborted) return asked;
      this.#cluster.abandonJoin();
      throw kafkaError("unavailable", `group ${this.#group} has gone to another broker`);
    });
    return await Promise.race([asked, moved]);
  }

  /** Resolves when another broker has the group, or at the end. */
  async #untilMoved(end: AbortSignal): Promise<void> {
    while (!end.aborted) {
      await pause(this.#options.clock, this.#options.requestTimeoutMs, end);
      if (end.aborted) return;
      const coordinator = await this.#cluster.coordinatorOf(this.#group).catch(() => null);
      if (coordinator === null || coordinator === this.#coordinator) continue;
      this.#coordinator = coordinator;
      return;
    }
  }

  async #shareOut({ members }: JoinAnswer): Promise<object[]> {
    const wanting = members.map(({ memberId, memberMetadata }) => memberOf(memberId, memberMetadata));
    const topics = new Set(wanting.flatMap((member) => member.topics));
    this.#shared = await this.#countsOf(topics);
    const shares = assignPartitions(wanting, this.#shared);
    return [...shares].map(([memberId, partitions]) => ({
      memberId,
      memberAssignment: MemberAssignment.encode({
        version: PROTOCOL_VERSION,
        assignment: Object.fromEntries(
          byTopic(partitions, ({ partition }) => partition).map((entry) => [entry.topic, entry.partitions]),
        ),
        userData: Buffer.alloc(0),
      }),
    }));
  }

  /** A topic that does not exist (yet) has no partitions. */
  async #countsOf(topics: ReadonlySet<string>): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const topic of topics) {
      try {
        counts.set(topic, (await this.#cluster.partitionsOf(topic)).size);
      } catch (error) {
        if (brokerErrorName(error) !== "UNKNOWN_TOPIC_OR_PARTITION") throw error;
        counts.set(topic, 0);
      }
    }
    return counts;
  }

  /** Only the leader looks, as often as metadata gets old. */
  async #hasNewPartitions(): Promise<boolean> {
    if (this.#shared === null) return false;
    const counts = await this.#countsOf(new Set(this.#shared.keys())).catch(() => this.#shared);
    const changed = [...(counts ?? [])].some(([topic, count]) => count !== this.#shared?.get(topic));
    return changed;
  }

  async #ask(api: string, args: object): Promise<unknown> {
    this.#coordinator ??= await this.#cluster.coordinatorOf(this.#group);
    try {
      return await this.#cluster.call(this.#coordinator, { api, args: { groupId: this.#group, ...args } });
    } catch (error) {
      const name = brokerErrorName(error);
      if (name === null || COORDINATOR_MOVED.has(name)) this.#coordinator = null;
      throw error;
    }
  }
}

function isMemberIdRequired(error: unknown): error is Error & { readonly memberId: string } {
  return error instanceof Error && error.name === "KafkaJSMemberIdRequired" && "memberId" in error;
}

/** Another implementation's user data, or none, only means that nothing is known of what it had. */
function memberOf(memberId: string, metadata: Buffer): AssignMember {
  const { topics, userData } = MemberMetadata.decode(metadata) ?? { topics: [], userData: Buffer.alloc(0) };
  try {
    const previous: unknown = JSON.parse(userData.toString());
    return { memberId, topics, previous: Array.isArray(previous) ? (previous as TopicPartition[]) : [] };
  } catch {
    return { memberId, topics, previous: [] };
  }
}
