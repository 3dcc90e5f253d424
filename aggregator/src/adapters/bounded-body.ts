import { AggregatorError } from "../ports/errors.ts";

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** The body of an answer of the scheduler-plugin. Throws AggregatorError when it is too long. */
export async function readBounded(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) {
      throw new AggregatorError(
        "decisions_bad_answer",
        `the scheduler-plugin's answer must have at most ${MAX_ANSWER_BYTES} bytes`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
