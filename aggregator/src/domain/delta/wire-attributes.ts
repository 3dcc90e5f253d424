import { encodeAttributes, type Attributes, type EncodedAttributes } from "@isochrone/telemetry";

/**
 * What came together is dropped together, mostly: so small that a chunk seldom outlives most of what it
 * holds.
 */
const CHUNK_BYTES = 8192;

/**
 * Where the next ones go. Entities keep theirs for hours: in Node's own pool each would keep alive what else
 * was made that moment.
 */
let chunk = new Uint8Array(0);
let used = 0;

/**
 * The attributes of an entity's points as one kind of point has them, stored beside those of other entities.
 */
class StoredAttributes implements EncodedAttributes {
  readonly field: number;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** As another kind of point has them; there are one or two. */
  readonly next: StoredAttributes | null;

  constructor(field: number, { bytes, start, end }: EncodedAttributes, next: StoredAttributes | null) {
    const length = end - start;
    if (used + length > chunk.length) {
      chunk = new Uint8Array(Math.max(CHUNK_BYTES, length));
      used = 0;
    }
    chunk.set(bytes.subarray(start, end), used);
    this.field = field;
    this.bytes = chunk;
    this.start = used;
    this.end = used += length;
    this.next = next;
  }
}

/**
 * An entity whose points carry its names. These don't change, so they are encoded once for each kind of
 * point.
 */
export abstract class OnWire {
  #stored: StoredAttributes | null = null;

  /** @param field number of the field `attributes` of the points, see ATTRIBUTE_FIELDS */
  attributesAs(field: number): EncodedAttributes {
    for (let stored = this.#stored; stored !== null; stored = stored.next)
      if (stored.field === field) return stored;
    const encoded = encodeAttributes(field, this.wireAttributes());
    return (this.#stored = new StoredAttributes(field, encoded, this.#stored));
  }

  protected abstract wireAttributes(): Attributes;
}
