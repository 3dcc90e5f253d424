import { pause } from "@isochrone/runtime";

import { BusError } from "../../../ports/errors.ts";
import type { TopicPartition } from "../../../ports/port.ts";
import type { KafkaRecord } from "./client.ts";
import { isRefusal } from "./kafka-errors.ts";
import type { LibraryErrors } from "./library.ts";
import type { KafkaClientOptions } from "./options.ts";
import { partitionKey } from "./records.ts";
import { retryDelayMs } from "./retry-delay.ts";

export interface ProducerId {
  readonly id: bigint;
  readonly epoch: number;
}

export interface ProduceRequest {
  readonly partition: TopicPartition;
  readonly records: readonly KafkaRecord[];
  readonly producer: ProducerId;
  readonly sequence: number;
  /** Timestamp of all records, Unix milliseconds. */
  readonly timestampMs: number;
  readonly timeoutMs: number;
}

/** All reject with the library's errors. */
export interface ProduceRequests {
  readonly errors: LibraryErrors;
  leaderOf(partition: TopicPartition): Promise<number>;
  newProducerId(): Promise<ProducerId>;
  send(leader: number, request: ProduceRequest): Promise<void>;
  forget(topic: string): void;
}

/** Producer and next sequence in the partition. Brokers detect repeats by them. */
interface Identity {
  producer: ProducerId | null;
  sequence: number;
}

const SEQUENCES = 2 ** 31;
/** Some brokers briefly don't know a new or moved topic. */
const UNKNOWN_TOPIC_ATTEMPTS = 5;
/** The broker's timeout is shorter than ours, so that it can report the reason. */
const BROKER_SHARE = 0.9;

/** The broker has the batch from an attempt whose answer was lost. */
const REPEAT = "DUPLICATE_SEQUENCE_NUMBER";
/** The broker no longer knows the producer or its epoch. The producer must start with a new identity. */
const IDENTITY_LOST: ReadonlySet<string> = new Set([
  "OUT_OF_ORDER_SEQUENCE_NUMBER",
  "UNKNOWN_PRODUCER_ID",
  "INVALID_PRODUCER_EPOCH",
  "INVALID_PRODUCER_ID_MAPPING",
  "PRODUCER_FENCED",
]);

/** Errors after which the broker has certainly not stored the batch. */
const CERTAIN: ReadonlySet<string> = new Set([
  "MESSAGE_TOO_LARGE",
  "RECORD_LIST_TOO_LARGE",
  "INVALID_RECORD",
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
]);

/**
 * Idempotent producer with one identity per partition. Drops the identity if the fate of a batch is unknown.
 * The libraries' producers share one identity among partitions. In one library, a failure of a partition
 * resets sequences of others in flight. In the other, later records reuse sequences of batches with unknown
 * fate. A broker that sees a recent sequence again acknowledges it without storing the records.
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
          // The batch may be stored; the broker must not mistake the next batch for it.
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

  /** Milliseconds until the next attempt; null: no further attempt. */
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
