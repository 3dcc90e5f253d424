import { encodeAttributes, type Attributes, type EncodedAttributes } from "@isochrone/telemetry";

/** Attributes of an entity's points: its names don't change, so they are encoded once. */
export class WireAttributes {
  readonly #attributes: Attributes;
  readonly #byField = new Map<number, EncodedAttributes>();

  constructor(attributes: Attributes) {
    this.#attributes = attributes;
  }

  /** @param field number of the field `attributes` of the points, see ATTRIBUTE_FIELDS */
  as(field: number): EncodedAttributes {
    let encoded = this.#byField.get(field);
    if (encoded === undefined)
      this.#byField.set(field, (encoded = encodeAttributes(field, this.#attributes)));
    return encoded;
  }
}
