import { boundedBody, type FetchAnswer } from "@isochrone/runtime";
import { AggregatorError } from "../ports/errors.ts";

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Reads a response body of the scheduler-plugin. Rejects with an AggregatorError if it is too long. */
export function readBounded(response: FetchAnswer): Promise<Buffer> {
  const rule = `the scheduler-plugin's answer must have at most ${MAX_ANSWER_BYTES} bytes`;
  return boundedBody(response, MAX_ANSWER_BYTES, () => new AggregatorError("decisions_bad_answer", rule));
}
