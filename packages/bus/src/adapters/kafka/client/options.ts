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

/** PEM texts; default: the system's CAs. Read per connection, so getters can return rotated values. */
export interface KafkaTls {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: Secret | undefined;
}

/** Read for each connection, like {@link KafkaTls}. */
export interface KafkaSasl {
  readonly mechanism: SaslMechanism;
  readonly username: string;
  readonly password: Secret;
}

export interface KafkaBusOptions {
  readonly client: KafkaClientName;
  /** `host:port` of bootstrap brokers. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger?: Logger;
  readonly tls?: KafkaTls;
  readonly sasl?: KafkaSasl;
  /** @default lz4 */
  readonly compression?: KafkaCompression;
  /** Timeout for connecting to one broker, TLS and SASL included. @default 5000 */
  readonly connectTimeoutMs?: number;
  /** Timeout per request. @default 10000 */
  readonly requestTimeoutMs?: number;
  /** Timeout per publish, retries included. @default 30000 */
  readonly deliveryTimeoutMs?: number;
  /** Maximum wait of `subscribe` for brokers before it continues in the background. @default 30000 */
  readonly joinTimeoutMs?: number;
  /** Maximum age of leaders and partitions. @default 30000 */
  readonly metadataMaxAgeMs?: number;
  /** Maximum time that a broker holds a fetch without records. @default 250 */
  readonly fetchWaitMs?: number;
  /** Maximum bytes per fetch. @default 4 MiB */
  readonly fetchMaxBytes?: number;
  /** Maximum bytes per fetch and partition; a larger batch arrives alone. @default 1 MiB */
  readonly partitionFetchMaxBytes?: number;
  /** Maximum buffered bytes; beyond it, only empty partitions are fetched. @default 16 MiB */
  readonly maxBufferedBytes?: number;
  /** Maximum pending bytes; further publishes are rejected. @default 32 MiB */
  readonly maxPendingBytes?: number;
  /** First and longest retry pause. Refusals wait `retryMaxMs` at once. @default 100 and 5000 */
  readonly retryInitialMs?: number;
  readonly retryMaxMs?: number;
  /** Pause before redelivery of a batch whose handler threw. @default 1000 */
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

export type KafkaClientOptions = Readonly<typeof DEFAULTS> &
  Pick<KafkaBusOptions, "brokers" | "clientId" | "clock" | "random" | "logger" | "tls" | "sasl"> & {
    readonly compression: KafkaCompression;
  };

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

/** Secrets are in clear: pass the result to the library at once. */
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

/** Parses `host:port`, or `[address]:port` for IPv6. */
export function parseBroker(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(":");
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ""), port: Number(text.slice(colon + 1)) };
}

function invalid(name: string, rule: string): BusError {
  return new BusError("invalid_option", `${name} of the Kafka bus ${rule}`);
}
