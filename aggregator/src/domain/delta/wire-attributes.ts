import { encodeAttributes, type Attributes, type EncodedAttributes } from "@isochrone/telemetry";

/** What came together is dropped together, mostly: so small that a chunk seldom outlives most of what it holds. */
const CHUNK_BYTES = 8192;

/** Where the next ones go. Entities keep theirs for hours: in Node's own pool each would keep alive what else was made that moment. */
let chunk = new Uint8Array(0);
let used = 0;

/** The same bytes, beside those of other entities. */
function stored({ bytes, start, end }: EncodedAttributes): EncodedAttributes {
  const length = end - start;
  if (used + length > chunk.length) {
    chunk = new Uint8Array(Math.max(CHUNK_BYTES, length));
    used = 0;
  }
  const at = used;
  chunk.set(bytes.subarray(start, end), at);
  used += length;
  return { bytes: chunk, start: at, end: used };
}

/** Attributes of an entity's points: its names don't change, so they are encoded once for each kind of point, of which there is mostly one. */
export class WireAttributes {
  readonly #attributes: Attributes;
  #field = 0;
  #encoded: EncodedAttributes | null = null;
  /** Those of other fields. */
  #more: Map<number, EncodedAttributes> | null = null;

  constructor(attributes: Attributes) {
    this.#attributes = attributes;
  }

  /** @param field number of the field `attributes` of the points, see ATTRIBUTE_FIELDS */
  as(field: number): EncodedAttributes {
    if (field === this.#field) return this.#encoded!;
    const known = this.#more?.get(field);
    if (known !== undefined) return known;
    const encoded = stored(encodeAttributes(field, this.#attributes));
    if (this.#encoded === null) {
      this.#field = field;
      this.#encoded = encoded;
    } else (this.#more ??= new Map()).set(field, encoded);
    return encoded;
  }
}
