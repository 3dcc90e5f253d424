import { BusError } from "../../../ports/errors.ts";
import { brokerError, connectionError, kafkaError } from "../client/kafka-errors.ts";
import type { LibraryErrors } from "../client/library.ts";

const AUTHENTICATION = new Set(["KafkaJSSASLAuthenticationError"]);
const CONNECTION = new Set([
  "KafkaJSConnectionError",
  "KafkaJSConnectionClosedError",
  "KafkaJSBrokerNotFound",
]);
const TIMEOUT = new Set(["KafkaJSRequestTimeoutError", "KafkaJSTimeout", "KafkaJSLockTimeout"]);

export function kafkajsError(error: unknown, doing: string): BusError {
  if (error instanceof BusError) return error;
  const { name, message } = error instanceof Error ? error : { name: "", message: String(error) };
  const kafkaName = brokerErrorName(error);
  if (kafkaName !== null) return brokerError(kafkaName, doing, error);
  if (AUTHENTICATION.has(name)) return kafkaError("unauthenticated", `${doing} failed: ${message}`, error);
  if (CONNECTION.has(name)) return connectionError(doing, error);
  if (TIMEOUT.has(name)) return kafkaError("timeout", `${doing} failed: ${message}`, error);
  return kafkaError("unavailable", `${doing} failed: ${message}`, error);
}

/** Returns the broker's error name (`NOT_LEADER_FOR_PARTITION`); null if the error is no broker's answer. */
export function brokerErrorName(error: unknown): string | null {
  return error instanceof Error && "type" in error && typeof error.type === "string" ? error.type : null;
}

export const KAFKAJS_ERRORS: LibraryErrors = { brokerErrorName, toBusError: kafkajsError };
