// What the leader among the scheduler-plugin's replicas knows alone.
import { looseFields } from "@isochrone/primitives";
import { SnapshotError } from "@isochrone/topology";
import type { DecisionsSource } from "../http/decisions-routes.ts";
import { AggregatorError } from "../ports/errors.ts";

/** Of several replicas one leads; each attempt may reach another one. */
const ATTEMPTS = 4;

/**
 * The leader's answer; null where nobody has one. Rejects as the source does.
 * @param offCode of the problem that all replicas answer where nobody will have one
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

/** Of a problem; null where the body is none. */
function codeIn(body: Buffer): unknown {
  try {
    return looseFields<{ code: unknown }>(JSON.parse(body.toString())).code;
  } catch {
    return null;
  }
}

/** What an answer holds. Throws an AggregatorError that names `what` where it can't be read. */
export function readAnswer<T>(body: Buffer, parse: (value: unknown) => T, what: string): T {
  try {
    return parse(JSON.parse(body.toString()));
  } catch (error) {
    if (!(error instanceof SnapshotError || error instanceof SyntaxError)) throw error;
    throw new AggregatorError("decisions_bad_answer", `${what} can't be read: ${error.message}`, error);
  }
}
