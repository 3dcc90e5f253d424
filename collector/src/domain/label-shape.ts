import { attributeKey, type AttributeKey } from "@isochrone/telemetry";
import type { ExpectedNames, LabelSet } from "./label-set.ts";

/** A bucket's upper bound: part of the value, not of the row's identity, unless buckets are counters. */
export const BUCKET_LABEL = "le";

/** Cached label sets per family; beyond it reading is slower. */
const MAX_SHAPES = 64;
const PLAIN_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

export class LabelShape implements ExpectedNames {
  readonly encodedNames: readonly Uint8Array[];
  readonly positions: ReadonlyMap<string, number>;
  readonly keys: readonly AttributeKey[];
  /** Positions in canonical order, which identifies a row. */
  readonly order: readonly number[];
  readonly canonical: boolean;

  constructor(names: readonly string[], identity: readonly string[]) {
    this.encodedNames = names.map((name) => Buffer.from(`${quoted(name)}="`));
    this.positions = new Map(names.map((name, position) => [name, position]));
    this.keys = names.map(attributeKey);
    this.order = identity.map((name) => this.positions.get(name)!);
    this.canonical =
      this.order.length === names.length && this.order.every((position, index) => position === index);
  }
}

function quoted(name: string): string {
  return PLAIN_NAME.test(name) ? name : JSON.stringify(name);
}

/** Shapes of a family. The first order seen of a set of names is canonical. */
export class LabelShapes {
  readonly #shapes = new Map<string, LabelShape>();
  readonly #canonicalNames = new Map<string, readonly string[]>();
  readonly #boundIsLabel: boolean;
  last: LabelShape | null = null;

  constructor(boundIsLabel: boolean) {
    this.#boundIsLabel = boundIsLabel;
  }

  /** Shape of the labels just read; null if a name is repeated. */
  of(labels: LabelSet): LabelShape | null {
    if (labels.expected) return this.last;
    const names = Array.from({ length: labels.count }, (_, index) => labels.name(index));
    const key = names.join("\u0000");
    const known = this.#shapes.get(key);
    if (known !== undefined) return (this.last = known);
    const sorted = names.toSorted();
    if (sorted.some((name, index) => name === sorted[index - 1])) return null;
    return (this.last = this.#create(names, sorted, key));
  }

  #create(names: readonly string[], sorted: readonly string[], key: string): LabelShape {
    const set = sorted.join("\u0000");
    const known = this.#canonicalNames.get(set);
    if (this.#shapes.size >= MAX_SHAPES) return new LabelShape(names, this.#identity(known ?? sorted));
    if (known === undefined) this.#canonicalNames.set(set, names);
    const shape = new LabelShape(names, this.#identity(known ?? names));
    this.#shapes.set(key, shape);
    return shape;
  }

  #identity(names: readonly string[]): readonly string[] {
    return this.#boundIsLabel ? names : names.filter((name) => name !== BUCKET_LABEL);
  }
}
