import { codeOf } from "@isochrone/primitives";
import type { BodyLease } from "@isochrone/runtime/http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";

/** The body exceeds its limit, compressed or decompressed. */
export class BodyTooLargeError extends Error {
  readonly isUnpacked: boolean;

  constructor(isUnpacked: boolean) {
    super("the body is too large");
    this.isUnpacked = isUnpacked;
  }
}

/** The data does not match its content encoding. */
export class BodyEncodingError extends Error {}

interface BodyReading {
  readonly isGzip: boolean;
  readonly maxBytes: number;
  readonly maxUnpackedBytes: number;
  /** Null: no accounting. */
  readonly lease: BodyLease | null;
}

/** Larger than the default, because each chunk is a task for a thread. */
const CHUNK_BYTES = 64 * 1024;

/** Counts each chunk before producing the next, so a bomb stops at the first limit. */
export async function readBody(payload: Readable, reading: BodyReading): Promise<Uint8Array> {
  const { isGzip, maxBytes, maxUnpackedBytes, lease } = reading;
  if (!isGzip) return collect(payload, maxBytes, () => new BodyTooLargeError(false), null);
  const unpacked = createGunzip({ chunkSize: CHUNK_BYTES });
  const end = (error: Error): void => void unpacked.destroy(error);
  if (lease !== null) lease.giveWay = end;
  let packedBytes = 0;
  payload.on("data", (chunk: Buffer) => {
    packedBytes += chunk.length;
    if (packedBytes > maxBytes) end(new BodyTooLargeError(false));
  });
  payload.once("error", end);
  payload.pipe(unpacked);
  try {
    return await collect(unpacked, maxUnpackedBytes, () => new BodyTooLargeError(true), lease);
  } catch (error) {
    // Errors of zlib.
    if (codeOf(error)?.startsWith("Z_") === true)
      throw new BodyEncodingError("the body is not gzip", { cause: error });
    throw error;
  } finally {
    if (lease !== null) lease.giveWay = null;
    payload.unpipe(unpacked).resume();
    unpacked.destroy();
  }
}

async function collect(
  stream: Readable,
  maxBytes: number,
  tooLarge: () => Error,
  lease: BodyLease | null,
): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge();
    lease?.take(chunk.length);
    chunks.push(chunk);
  }
  // The data exists twice while it is concatenated.
  lease?.take(bytes);
  return Buffer.concat(chunks, bytes);
}
