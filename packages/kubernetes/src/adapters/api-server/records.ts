const NEWLINE = 0x0a;
/** Maximum size of a record, far above any object: etcd's limit is 1.5 MiB. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

export interface Records {
  /** Returns the records that the chunk completes. Throws if one is too long. */
  of(chunk: Buffer): readonly Buffer[];
  readonly pendingBytes: number;
}

/** Newline-terminated records, as in JSON watches. */
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

/** Length-prefixed records, as in binary watches. */
export class Frames implements Records {
  #rest: Buffer[] = [];
  pendingBytes = 0;
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
