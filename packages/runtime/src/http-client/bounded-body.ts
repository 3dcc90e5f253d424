import type { FetchAnswer } from "./authorized-fetch.ts";

/** Reads a whole body. Rejects with the error of `onMore` above `maxBytes`. */
export async function boundedBody(
  response: Pick<FetchAnswer, "body">,
  maxBytes: number,
  onMore: () => Error,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw onMore();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
