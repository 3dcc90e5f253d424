import { looseFields } from "@isochrone/primitives";
import { SnapshotError } from "@isochrone/topology";
import type { DecisionsSource } from "../http/decisions-routes.ts";
import { AggregatorError } from "../ports/errors.ts";

/** Requests per question. Each may reach another replica, and only the leader answers. */
const ATTEMPTS = 4;

/**
 * Null: no replica has an answer.
 * @param offCode problem code that all replicas return if the feature is off
 */
export async function askLeader(
  source: DecisionsSource,
  path: string,
  offCode: string,
  signal: AbortSignal,
): Promise<Buffer | null> {
  for (let attempt = 1; ; attempt++) {
    const { status, body } = await source.fetch(path, signal);
    if (status === 200) return body;
    if (attempt === ATTEMPTS || status !== 503 || codeIn(body) === offCode) return null;
  }
}

function codeIn(body: Buffer): unknown {
  try {
    return looseFields<{ code: unknown }>(JSON.parse(body.toString())).code;
  } catch {
    return null;
  }
}

/** Parses an answer. Throws an AggregatorError that names `what` if it is malformed. */
export function readAnswer<T>(body: Buffer, parse: (value: unknown) => T, what: string): T {
  try {
    return parse(JSON.parse(body.toString()));
  } catch (error) {
    if (!(error instanceof SnapshotError || error instanceof SyntaxError)) throw error;
    throw new AggregatorError("decisions_bad_answer", `${what} can't be read: ${error.message}`, error);
  }
}
