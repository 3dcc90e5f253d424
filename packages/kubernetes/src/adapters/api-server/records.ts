const NEWLINE = 0x0a;
/** No object comes near it: etcd takes 1.5 MiB. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/** Cuts what comes in chunks into records. */
export interface Records {
  /** Those that the chunk completes. Throws for one that is too long. */
  of(chunk: Buffer): readonly Buffer[];
  /** Of a record that isn't complete yet. */
  readonly pendingBytes: number;
}

/** Records that end with a newline each, as JSON comes. */
export class Lines implements Records {
  #rest: Buffer[] = [];
  pendingBytes = 0;

  of(chunk: Buffer): readonly Buffer[] {
    const lines: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const line = chunk.subarray(start, end);
      lines.push(this.pendingBytes === 0 ? line : Buffer.concat([...this.#rest, line]));
      [this.#rest, this.pendingBytes, start] = [[], 0, end + 1];
    }
    if (start < chunk.length) this.#rest.push(chunk.subarray(start));
    this.pendingBytes += chunk.length - start;
    if (this.pendingBytes > MAX_RECORD_BYTES)
      throw new Error(`a line of more than ${MAX_RECORD_BYTES} bytes`);
    return lines;
  }
}

const LENGTH_BYTES = 4;

/** Records that begin with their length, as the binary form comes. */
export class Frames implements Records {
  #rest: Buffer[] = [];
  pendingBytes = 0;
  /** So much must be there before there is anything to do. */
  #wantedBytes = LENGTH_BYTES;

  of(chunk: Buffer): readonly Buffer[] {
    this.#rest.push(chunk);
    this.pendingBytes += chunk.length;
    if (this.pendingBytes < this.#wantedBytes) return [];
    let bytes = this.#rest.length === 1 ? chunk : Buffer.concat(this.#rest);
    const frames: Buffer[] = [];
    for (
      this.#wantedBytes = wanted(bytes);
      bytes.length >= this.#wantedBytes;
      this.#wantedBytes = wanted(bytes)
    ) {
      if (this.#wantedBytes > LENGTH_BYTES) frames.push(bytes.subarray(LENGTH_BYTES, this.#wantedBytes));
      bytes = bytes.subarray(this.#wantedBytes);
    }
    this.#rest = bytes.length > 0 ? [bytes] : [];
    this.pendingBytes = bytes.length;
    return frames;
  }
}

function wanted(bytes: Buffer): number {
  if (bytes.length < LENGTH_BYTES) return LENGTH_BYTES;
  const length = bytes.readUInt32BE();
  if (length > MAX_RECORD_BYTES)
    throw new Error(`a frame of ${length} bytes, must be at most ${MAX_RECORD_BYTES}`);
  return LENGTH_BYTES + length;
}
