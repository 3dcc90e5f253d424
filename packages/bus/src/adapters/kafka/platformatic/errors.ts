import { MultipleErrors, ResponseError } from "@platformatic/kafka";

import { BusError } from "../../../ports/errors.ts";
import { brokerError, connectionError, kafkaError } from "../client/kafka-errors.ts";
import type { LibraryErrors } from "../client/library.ts";

/** Maximum depth of causes and aggregated errors. */
const MAX_DEPTH = 8;

export function mapError(error: unknown, doing: string): BusError {
  if (error instanceof BusError) return error;
  const all = [...inner(error, 0)];
  const refused = all.map((part) => refusal(part, doing, error)).find((found) => found !== null);
  if (refused) return refused;
  const names = all.map(kafkaNameOf).filter((name) => name !== null);
  const named = names.map((name) => brokerError(name, doing, error));
  // Prefer an error that needs an operator over a temporary one.
  const telling = named.find(({ code }) => code !== "unavailable") ?? named[0];
  if (telling) return telling;
  // The innermost error is the most specific: the library wraps socket errors.
  return connectionError(doing, all.at(-1) ?? error);
}

/** Returns the broker's error name, such as NOT_LEADER_OR_FOLLOWER; null for other errors. */
export function brokerErrorName(error: unknown): string | null {
  for (const part of inner(error, 0)) {
    const name = kafkaNameOf(part);
    if (name !== null) return name;
  }
  return null;
}

/** Returns the broker's answer if an error inside it made the library throw; else null. */
export function responseIn(error: unknown): unknown {
  return error instanceof ResponseError ? (error["response"] as unknown) : null;
}

/** Maps refusals that the library reports by its own classes and messages. */
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

/** Yields the error, its parts and its causes, outermost first. */
function* inner(error: unknown, depth: number): Generator<Error> {
  if (!(error instanceof Error) || depth > MAX_DEPTH) return;
  yield error;
  if (error instanceof AggregateError || error instanceof MultipleErrors) {
    for (const part of error.errors) yield* inner(part, depth + 1);
  }
  yield* inner(error.cause, depth + 1);
}

export const PLATFORMATIC_ERRORS: LibraryErrors = { brokerErrorName, toBusError: mapError };
