import { pause } from "@isochrone/runtime";

import { BusError } from "../../../ports/errors.ts";
import type { TopicPartition } from "../../../ports/port.ts";
import type { KafkaRecord } from "./client.ts";
import { isRefusal } from "./kafka-errors.ts";
import type { LibraryErrors } from "./library.ts";
import type { KafkaClientOptions } from "./options.ts";
import { partitionKey } from "./records.ts";
import { retryDelayMs } from "./retry-delay.ts";

/** By what a broker knows a producer. */
export interface ProducerId {
  readonly id: bigint;
  readonly epoch: number;
}

/** Records of one partition as they go to its leader in one request. */
export interface ProduceRequest {
  readonly partition: TopicPartition;
  readonly records: readonly KafkaRecord[];
  readonly producer: ProducerId;
  /** Number of the first record in the partition. */
  readonly sequence: number;
  /** Of all records, ms since the epoch. */
  readonly timestampMs: number;
  /** How long the broker may wait for the replicas. */
  readonly timeoutMs: number;
}

/** What a library does for publishing. All reject with what it throws. */
export interface ProduceRequests {
  readonly errors: LibraryErrors;
  /** The node that leads the partition. */
  leaderOf(partition: TopicPartition): Promise<number>;
  newProducerId(): Promise<ProducerId>;
  send(leader: number, request: ProduceRequest): Promise<void>;
  /** Who leads the topic's partitions is to be asked anew. */
  forget(topic: string): void;
}

/** By what a broker knows a repeat: whose record it is, and its number in the partition. */
interface Identity {
  producer: ProducerId | null;
  sequence: number;
}

/** Sequences wrap here. */
const SEQUENCES = 2 ** 31;
/** A topic just made, or just moved, is unknown to some brokers for a moment. */
const UNKNOWN_TOPIC_ATTEMPTS = 5;
/** The broker's own time limit ends before ours, so that it can say what it waits for. */
const BROKER_SHARE = 0.9;

/** The broker has this batch already, from an attempt whose answer was lost. */
const REPEAT = "DUPLICATE_SEQUENCE_NUMBER";
/** The broker no longer knows the producer, or knows it otherwise: it must begin anew. */
const IDENTITY_LOST: ReadonlySet<string> = new Set([
  "OUT_OF_ORDER_SEQUENCE_NUMBER",
  "UNKNOWN_PRODUCER_ID",
  "INVALID_PRODUCER_EPOCH",
  "INVALID_PRODUCER_ID_MAPPING",
  "PRODUCER_FENCED",
]);

/** After these the broker has not taken the batch. */
const CERTAIN: ReadonlySet<string> = new Set([
  "MESSAGE_TOO_LARGE",
  "RECORD_LIST_TOO_LARGE",
  "INVALID_RECORD",
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
]);

/**
 * Idempotent publishing, each partition with an identity of its own, which is given up when the fate of a
 * batch is unknown.
 *
 * The libraries' own producers have one for all: with one, a failure of one partition resets the sequences of
 * others that are just being sent, with the other, later records get the sequences of those whose fate is
 * unknown. A broker that finds such a sequence among the last it has acknowledges it without taking the
 * records.
 */
export class IdempotentProducer {
  readonly #options: KafkaClientOptions;
  readonly #requests: ProduceRequests;
  readonly #identities = new Map<string, Identity>();
  readonly #closed = new AbortController();

  constructor(options: KafkaClientOptions, requests: ProduceRequests) {
    this.#options = options;
    this.#requests = requests;
  }

  async produce(partition: TopicPartition, records: readonly KafkaRecord[]): Promise<void> {
    const { clock, deliveryTimeoutMs } = this.#options;
    const { errors } = this.#requests;
    const identity = this.#identityOf(partition);
    const endMs = clock.monotonic() + deliveryTimeoutMs;
    let uncertain = false;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#send(partition, identity, records);
        break;
      } catch (cause) {
        const name = errors.brokerErrorName(cause) ?? "";
        if (name === REPEAT) break;
        if (IDENTITY_LOST.has(name)) renew(identity);
        uncertain ||= !CERTAIN.has(name);
        const error = errors.toBusError(cause, `publishing to ${partitionKey(partition)}`);
        const pauseMs = this.#pauseAfter(error, name, attempt);
        if (pauseMs === null || clock.monotonic() + pauseMs > endMs) {
          // The batch may or may not be there: the next one must not be taken for it.
          if (uncertain) renew(identity);
          throw error;
        }
        this.#requests.forget(partition.topic);
        await pause(clock, pauseMs, this.#closed.signal);
      }
    }
    identity.sequence = (identity.sequence + records.length) % SEQUENCES;
  }

  close(): void {
    this.#closed.abort();
  }

  async #send(partition: TopicPartition, identity: Identity, records: readonly KafkaRecord[]): Promise<void> {
    if (this.#closed.signal.aborted) throw new BusError("closed", "the Kafka bus is closed");
    const { requestTimeoutMs, clock } = this.#options;
    const leader = await this.#requests.leaderOf(partition);
    identity.producer ??= await this.#requests.newProducerId();
    await this.#requests.send(leader, {
      partition,
      records,
      producer: identity.producer,
      sequence: identity.sequence,
      timestampMs: Math.floor(clock.now()),
      timeoutMs: Math.floor(requestTimeoutMs * BROKER_SHARE),
    });
  }

  /** How long to wait before the next attempt; null when there is to be none. */
  #pauseAfter(error: BusError, brokerErrorName: string, attempt: number): number | null {
    const known = error.code !== "unknown_topic" || attempt >= UNKNOWN_TOPIC_ATTEMPTS;
    const lost = IDENTITY_LOST.has(brokerErrorName);
    if (!lost && (!error.retryable || (isRefusal(error) && known))) return null;
    return retryDelayMs(this.#options, attempt);
  }

  #identityOf(partition: TopicPartition): Identity {
    const key = partitionKey(partition);
    const known = this.#identities.get(key);
    if (known) return known;
    const identity = { producer: null, sequence: 0 };
    this.#identities.set(key, identity);
    return identity;
  }
}

function renew(identity: Identity): void {
  identity.producer = null;
  identity.sequence = 0;
}
