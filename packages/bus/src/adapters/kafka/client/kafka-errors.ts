import { reasonOf } from "@isochrone/primitives";
import { BusError } from "../../../ports/errors.ts";
import type { BusErrorCode } from "../../../ports/errors.ts";

/** Delay after a refusal, which only a change of configuration can end. */
const REFUSED_RETRY_AFTER_MS = 5_000;

/** Codes of Kafka errors, by the names that both libraries use. All others are `unavailable`. */
const CODES: Readonly<Record<string, BusErrorCode>> = {
  SASL_AUTHENTICATION_FAILED: "unauthenticated",
  ILLEGAL_SASL_STATE: "unauthenticated",
  UNSUPPORTED_SASL_MECHANISM: "unauthenticated",
  TOPIC_AUTHORIZATION_FAILED: "unauthorized",
  GROUP_AUTHORIZATION_FAILED: "unauthorized",
  CLUSTER_AUTHORIZATION_FAILED: "unauthorized",
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "unauthorized",
  UNKNOWN_TOPIC_OR_PARTITION: "unknown_topic",
  UNKNOWN_TOPIC_ID: "unknown_topic",
  MESSAGE_TOO_LARGE: "too_large",
  RECORD_LIST_TOO_LARGE: "too_large",
  INVALID_TOPIC_EXCEPTION: "rejected",
  INVALID_RECORD: "rejected",
  INVALID_TIMESTAMP: "rejected",
  INVALID_REQUEST: "rejected",
  INVALID_CONFIG: "rejected",
  INVALID_PARTITIONS: "rejected",
  INVALID_REPLICATION_FACTOR: "rejected",
  POLICY_VIOLATION: "rejected",
  UNSUPPORTED_VERSION: "rejected",
  UNSUPPORTED_COMPRESSION_TYPE: "rejected",
  REQUEST_TIMED_OUT: "timeout",
  THROTTLING_QUOTA_EXCEEDED: "overloaded",
};

const REFUSALS: ReadonlySet<BusErrorCode> = new Set([
  "unauthenticated",
  "untrusted",
  "unauthorized",
  "unknown_topic",
]);

/** `doing` names operation and object: "publishing to isochrone.probe.v1/3". */
export function brokerError(kafkaName: string, doing: string, cause: unknown): BusError {
  return kafkaError(
    CODES[kafkaName] ?? "unavailable",
    `${doing} failed: the broker answered ${kafkaName}`,
    cause,
  );
}

export function connectionError(doing: string, cause: unknown): BusError {
  const fault = tlsFault(cause);
  const text = reasonOf(cause);
  if (fault !== null) return kafkaError("untrusted", `${doing} failed: TLS: ${fault}`, cause);
  return kafkaError("unavailable", `${doing} failed: no connection to a broker: ${text}`, cause);
}

/** Refusals carry a retry delay that protects the brokers. */
export function kafkaError(code: BusErrorCode, message: string, cause?: unknown): BusError {
  return new BusError(code, message, {
    ...(cause === undefined ? {} : { cause }),
    ...(REFUSALS.has(code) ? { retryAfterMs: REFUSED_RETRY_AFTER_MS } : {}),
  });
}

/** Returns true if an operator must change something (credentials, certificates, rights, topics). */
export function isRefusal(error: BusError): boolean {
  return REFUSALS.has(error.code);
}

/** True if this many consecutive failures exceed a leader change or a new topic. */
export function isSerious(error: BusError, failures: number): boolean {
  const passing = error.retryable && (!isRefusal(error) || error.code === "unknown_topic");
  return !passing || failures > PASSING_FAILURES;
}

const PASSING_FAILURES = 3;

const TLS_CODES =
  /^(CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED_CERT|UNABLE_TO_(GET_ISSUER|VERIFY)|EPROTO$|HOSTNAME_MISMATCH)/;

/** Returns the certificate or handshake problem anywhere in the chain of causes; null: there is none. */
function tlsFault(error: unknown, depth = 0): string | null {
  if (!(error instanceof Error) || depth > 8) return null;
  const code = "code" in error ? error.code : undefined;
  if (typeof code === "string" && TLS_CODES.test(code)) return `${error.message} (${code})`;
  const nested = "errors" in error && Array.isArray(error.errors) ? error.errors : [];
  for (const inner of [error.cause, ...nested]) {
    const fault = tlsFault(inner, depth + 1);
    if (fault !== null) return fault;
  }
  return null;
}
