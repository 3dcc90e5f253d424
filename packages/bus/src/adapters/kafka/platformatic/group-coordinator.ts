import { consumerGroupHeartbeatV1, offsetCommitV9, offsetFetchV9 } from "@platformatic/kafka";
import type { Broker, Connection, consumerGroupHeartbeatV1 as Heartbeat } from "@platformatic/kafka";

import type { TopicPartition } from "../../../ports/port.ts";
import type { PartitionOffset } from "../client/client.ts";
import { byTopic, partitionKey } from "../client/records.ts";
import type { Cluster } from "./cluster.ts";
import { brokerErrorName } from "./errors.ts";

/** A member as its coordinator knows it. */
export interface MemberIdentity {
  readonly id: string;
  /** Moves on with each change of its assignment; JOINING before the first. */
  readonly epoch: number;
}

export const JOINING = 0;
const LEAVING = -1;

/** Partitions of one topic, which the protocol calls by its id. */
export interface AssignedTopic {
  readonly topicId: string;
  readonly partitions: number[];
}

/** The broker that keeps a group: where it is, and what it is asked. Throws what the library throws. */
export class GroupCoordinator {
  readonly #cluster: Cluster;
  readonly #group: string;
  #broker: Broker | null = null;

  constructor(cluster: Cluster, group: string) {
    this.#cluster = cluster;
    this.#group = group;
  }

  /** Whether it has ever been found, and not lost since. */
  get found(): boolean {
    return this.#broker !== null;
  }

  /** Everything is said each time: a lost answer then costs nothing. */
  async heartbeat(
    { id, epoch }: MemberIdentity,
    topics: readonly string[],
    owned: readonly AssignedTopic[],
    rebalanceTimeoutMs: number,
  ): Promise<Heartbeat.ConsumerGroupHeartbeatResponse> {
    return await this.#ask((connection) =>
      consumerGroupHeartbeatV1.api.async(
        connection,
        this.#group,
        id,
        epoch,
        null,
        null,
        rebalanceTimeoutMs,
        [...topics],
        null,
        null,
        [...owned],
      ),
    );
  }

  async leave(id: string): Promise<void> {
    await this.#ask((connection) =>
      consumerGroupHeartbeatV1.api.async(
        connection,
        this.#group,
        id,
        LEAVING,
        null,
        null,
        -1,
        null,
        null,
        null,
        null,
      ),
    );
  }

  /** The group's offsets of these partitions, by their keys; null where it never committed. */
  async committed(
    { id, epoch }: MemberIdentity,
    partitions: readonly TopicPartition[],
  ): Promise<Map<string, number | null>> {
    const topics = byTopic(partitions, ({ partition }) => partition).map(
      ({ topic, partitions: partitionIndexes }) => ({ name: topic, partitionIndexes }),
    );
    const groups = [{ groupId: this.#group, memberId: id, memberEpoch: epoch, topics }];
    const answer = await this.#ask((connection) => offsetFetchV9.api.async(connection, groups, false));
    return new Map(
      (answer.groups[0]?.topics ?? []).flatMap(({ name, partitions }) =>
        partitions.map(({ partitionIndex, committedOffset }) => [
          partitionKey({ topic: name, partition: partitionIndex }),
          committedOffset < 0n ? null : Number(committedOffset),
        ]),
      ),
    );
  }

  async commit({ id, epoch }: MemberIdentity, offsets: readonly PartitionOffset[]): Promise<void> {
    const topics = byTopic(offsets, ({ partition, offset }) => ({
      partitionIndex: partition,
      committedOffset: BigInt(offset),
      committedLeaderEpoch: -1,
      committedMetadata: null,
    })).map(({ topic, partitions }) => ({ name: topic, partitions }));
    await this.#ask((connection) =>
      offsetCommitV9.api.async(connection, this.#group, epoch, id, null, topics),
    );
  }

  async #ask<T>(request: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      this.#broker ??= await this.#cluster.coordinator(this.#group);
      return await request(await this.#cluster.connection(this.#broker));
    } catch (error) {
      // Not there any more, or no longer the one: to be looked for anew.
      const name = brokerErrorName(error);
      if (name === null || name.includes("COORDINATOR")) this.#broker = null;
      throw error;
    }
  }
}
