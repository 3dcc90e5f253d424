import { MultipleErrors, ResponseError } from "@platformatic/kafka";

import { BusError } from "../../../ports/errors.ts";
import { brokerError, connectionError, kafkaError } from "../client/kafka-errors.ts";
import type { LibraryErrors } from "../client/library.ts";

/** Causes and parts are followed this deep. */
const MAX_DEPTH = 8;

/** The BusError of whatever the library threw while `doing`. */
export function mapError(error: unknown, doing: string): BusError {
  if (error instanceof BusError) return error;
  const all = [...inner(error, 0)];
  const refused = all.map((part) => refusal(part, doing, error)).find((found) => found !== null);
  if (refused) return refused;
  const names = all.map(kafkaNameOf).filter((name) => name !== null);
  const named = names.map((name) => brokerError(name, doing, error));
  // What needs somebody's help says more than what is only not now.
  const telling = named.find(({ code }) => code !== "unavailable") ?? named[0];
  if (telling) return telling;
  // Most specific last: the library wraps what the socket said.
  return connectionError(doing, all.at(-1) ?? error);
}

/**
 * Kafka's name of the error that a broker answered, such as NOT_LEADER_OR_FOLLOWER; null when it came from
 * elsewhere.
 */
export function brokerErrorName(error: unknown): string | null {
  for (const part of inner(error, 0)) {
    const name = kafkaNameOf(part);
    if (name !== null) return name;
  }
  return null;
}

/**
 * What a broker answered, when an error of a part of the answer made the library throw; null when it is no
 * such error.
 */
export function responseIn(error: unknown): unknown {
  return error instanceof ResponseError ? (error["response"] as unknown) : null;
}

/** Refusals that the library tells by its own classes and texts. */
function refusal(error: Error, doing: string, cause: unknown): BusError | null {
  const code = "code" in error ? error.code : undefined;
  if (code === "PLT_KFK_AUTHENTICATION")
    return kafkaError(
      "unauthenticated",
      `${doing} failed: the broker refused the credentials: ${error.message}`,
      cause,
    );
  if (code === "PLT_KFK_USER" && error.message.startsWith("Unknown topic"))
    return kafkaError("unknown_topic", `${doing} failed: ${error.message}`, cause);
  if (code === "PLT_KFK_USER" && error.message.includes("TLS"))
    return kafkaError("untrusted", `${doing} failed: ${error.message}`, cause);
  if (code === "PLT_KFK_UNSUPPORTED_API" || code === "PLT_KFK_UNSUPPORTED_COMPRESSION")
    return kafkaError("rejected", `${doing} failed: ${error.message}`, cause);
  return null;
}

function kafkaNameOf(error: Error): string | null {
  return "apiId" in error && typeof error.apiId === "string" ? error.apiId : null;
}

/** The error, its parts and its causes, outermost first. */
function* inner(error: unknown, depth: number): Generator<Error> {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return;
  yield error;
  if (error instanceof AggregateError || error instanceof MultipleErrors) {
    for (const part of error.errors) yield* inner(part, depth + 1);
  }
  yield* inner(error.cause, depth + 1);
}

export const PLATFORMATIC_ERRORS: LibraryErrors = { brokerErrorName, toBusError: mapError };
