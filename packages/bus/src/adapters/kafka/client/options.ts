import type { ConnectionOptions as TlsConnectionOptions } from "node:tls";

import type { Clock, Logger, Random, Secret } from "@isochrone/runtime";

import { definedOf, keysOf } from "@isochrone/primitives";
import { BusError } from "../../../ports/errors.ts";

export const KAFKA_CLIENTS = ["platformatic", "kafkajs"] as const;
export type KafkaClientName = (typeof KAFKA_CLIENTS)[number];

export const KAFKA_COMPRESSIONS = ["none", "gzip", "lz4", "zstd"] as const;
export type KafkaCompression = (typeof KAFKA_COMPRESSIONS)[number];

const SASL_MECHANISMS = ["scram-sha-512", "scram-sha-256", "plain"] as const;
type SaslMechanism = (typeof SASL_MECHANISMS)[number];

/**
 * PEM texts; without `ca` the system's authorities decide. Read for each connection: getters may give what is
 * newest.
 */
export interface KafkaTls {
  readonly ca?: string | undefined;
  /** The client's own certificate and key, for mutual TLS. */
  readonly cert?: string | undefined;
  readonly key?: Secret | undefined;
}

/** Read for each connection, as {@link KafkaTls}. */
export interface KafkaSasl {
  readonly mechanism: SaslMechanism;
  readonly username: string;
  readonly password: Secret;
}

/** How a Kafka bus is built. */
export interface KafkaBusOptions {
  /** The client library; only this one is loaded. */
  readonly client: KafkaClientName;
  /** `host:port` of some brokers; the others are learned from them. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger?: Logger;
  readonly tls?: KafkaTls;
  readonly sasl?: KafkaSasl;
  /** @default lz4 */
  readonly compression?: KafkaCompression;
  /** To connect to one broker, TLS and SASL included. @default 5000 */
  readonly connectTimeoutMs?: number;
  /** For the answer to one request. @default 10000 */
  readonly requestTimeoutMs?: number;
  /** For one publish in all, retries included; then it rejects. @default 30000 */
  readonly deliveryTimeoutMs?: number;
  /** How long `subscribe` waits for brokers before it goes on in the background. @default 30000 */
  readonly joinTimeoutMs?: number;
  /** How old the knowledge of leaders and partitions may get. @default 30000 */
  readonly metadataMaxAgeMs?: number;
  /** How long a broker holds a fetch back for want of records. @default 250 */
  readonly fetchWaitMs?: number;
  /** What one fetch may bring in all. @default 4 MiB */
  readonly fetchMaxBytes?: number;
  /**
   * What one fetch may bring of one partition; a larger batch of records still comes, alone.
   * @default 1 MiB
   */
  readonly partitionFetchMaxBytes?: number;
  /**
   * What one subscription may hold fetched and not yet handled; beyond it only empty-handed partitions are
   * fetched.
   * @default 16 MiB
   */
  readonly maxBufferedBytes?: number;
  /** What publishers may have waiting, beyond which they are refused. @default 32 MiB */
  readonly maxPendingBytes?: number;
  /**
   * Pauses between tries: first and longest. Refusals (credentials, authorization) wait `retryMaxMs` at once.
   * @default 100 and 5000
   */
  readonly retryInitialMs?: number;
  readonly retryMaxMs?: number;
  /** Pause before a batch whose handler threw comes again. @default 1000 */
  readonly redeliveryDelayMs?: number;
}

const DEFAULTS = {
  connectTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  deliveryTimeoutMs: 30_000,
  joinTimeoutMs: 30_000,
  metadataMaxAgeMs: 30_000,
  fetchWaitMs: 250,
  fetchMaxBytes: 4 * 1024 * 1024,
  partitionFetchMaxBytes: 1024 * 1024,
  maxBufferedBytes: 16 * 1024 * 1024,
  maxPendingBytes: 32 * 1024 * 1024,
  retryInitialMs: 100,
  retryMaxMs: 5_000,
  redeliveryDelayMs: 1_000,
};

/** The options with every default in place: what the shared code and the libraries' files work with. */
export type KafkaClientOptions = Readonly<typeof DEFAULTS> &
  Pick<KafkaBusOptions, "brokers" | "clientId" | "clock" | "random" | "logger" | "tls" | "sasl"> & {
    readonly compression: KafkaCompression;
  };

/** Checks the options and fills in the defaults. */
export function resolveOptions(options: KafkaBusOptions): KafkaClientOptions {
  const resolved = {
    ...DEFAULTS,
    compression: "lz4" as const,
    ...definedOf(options),
  };
  if (options.brokers.length === 0) throw invalid("brokers", "must not be empty");
  if (options.clientId === "") throw invalid("clientId", "must not be empty");
  for (const name of keysOf(DEFAULTS)) {
    const value = resolved[name];
    if (!Number.isSafeInteger(value) || value < 1)
      throw invalid(name, `must be a whole number of at least 1, got ${value}`);
  }
  return resolved;
}

/**
 * TLS options as node takes them, secrets revealed: to be handed to the library at once, which reads them
 * whenever it connects.
 */
export function tlsOptions(tls: KafkaTls): TlsConnectionOptions {
  return {
    get ca() {
      return tls.ca;
    },
    get cert() {
      return tls.cert;
    },
    get key() {
      return tls.key?.reveal();
    },
  };
}

/** `host:port`, or `[address]:port` for IPv6. */
export function parseBroker(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(":");
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(text.slice(colon + 1)) };
}

function invalid(name: string, rule: string): BusError {
  return new BusError("invalid_option", `${name} of the Kafka bus ${rule}`);
}
