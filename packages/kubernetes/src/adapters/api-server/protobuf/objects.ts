import { isRecord } from "@isochrone/primitives";

import type { Field, Message } from "./messages.ts";
import { LENGTH, MalformedError, VARINT, type Wire } from "./wire.ts";

/** Start of year 1; RFC 3339 covers the years 1 to 9999. */
const FIRST_SECOND = -62_135_596_800;
const LAST_SECOND = 253_402_300_799;

export type Fields = Record<string, unknown>;

/** Decodes messages to the objects that JSON.parse would return for the server's JSON. */
export class ObjectReader {
  readonly #wire: Wire;
  /** The first non-empty unknown field, such as "PodSpec 45". */
  unknownField: string | null = null;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  read(message: Message, end: number, into: Fields = {}): Fields {
    const wire = this.#wire;
    while (wire.at < end) {
      const tag = wire.tag(end);
      const field = message.fields[tag >>> 3];
      if (field === undefined) {
        if (!wire.skip(tag, end)) this.unknownField ??= `${message.name} ${tag >>> 3}`;
      } else if ((tag & 7) === LENGTH) this.#add(into, field, message, end);
      else if ((tag & 7) === VARINT) this.#addInt(into, field, message, end);
      else throw mismatch(message, field);
    }
    for (const name of message.nulls) into[name] ??= null;
    return into;
  }

  #add(into: Fields, field: Field, message: Message, end: number): void {
    const { name, shape } = field;
    if (shape === "map") this.#addEntry(into, field, message, end);
    else if (shape === "list") {
      const values = listIn(into, name);
      if (field.holds === "int") this.#addPacked(values, end);
      else values.push(this.#value(field, message, end));
    } else if (field.isInline) this.read(field.message!, this.#wire.endOfValue(end), into);
    else {
      const value = this.#value(field, message, end);
      if (value !== undefined) into[name] = value;
    }
  }

  /** Reads a value. Undefined: JSON omits it. */
  #value(field: Field, message: Message, end: number): unknown {
    const wire = this.#wire;
    switch (field.holds) {
      case "string": {
        const text = wire.text(end);
        return text === "" && field.isLeftOut ? undefined : text;
      }
      case "message":
        return this.read(field.message!, wire.endOfValue(end));
      case "quantity":
        return this.#quantity(wire.endOfValue(end));
      case "time":
        return this.#time(wire.endOfValue(end)) ?? (field.isLeftOut ? undefined : null);
      case "intOrString":
        return this.#intOrString(wire.endOfValue(end));
      case "skipped":
        wire.skip(LENGTH, end);
        return undefined;
      default:
        throw mismatch(message, field);
    }
  }

  #addInt(into: Fields, field: Field, message: Message, end: number): void {
    if (field.holds !== "int" && field.holds !== "bool") throw mismatch(message, field);
    const int = this.#wire.int(end);
    if (field.shape === "list") listIn(into, field.name).push(int);
    else if (int !== 0 || !field.isLeftOut) into[field.name] = field.holds === "bool" ? int !== 0 : int;
  }

  /** Reads a packed list of numbers, as protobuf 3 writes it. */
  #addPacked(values: unknown[], end: number): void {
    for (const listEnd = this.#wire.endOfValue(end); this.#wire.at < listEnd;)
      values.push(this.#wire.int(listEnd));
  }

  #addEntry(into: Fields, field: Field, message: Message, end: number): void {
    const wire = this.#wire;
    const map = mapIn(into, field.name);
    let key = "";
    let value: unknown = "";
    for (const entryEnd = wire.endOfValue(end); wire.at < entryEnd;) {
      const tag = wire.tag(entryEnd);
      if (tag === KEY) key = wire.text(entryEnd);
      else if (tag === VALUE) value = this.#value(field, message, entryEnd);
      else wire.skip(tag, entryEnd);
    }
    if (key !== "__proto__") map[key] = value;
    // An assignment would set the prototype.
    else Object.defineProperty(map, key, { value, enumerable: true, configurable: true, writable: true });
  }

  #quantity(end: number): string {
    let text = "0";
    for (const wire = this.#wire; wire.at < end;) {
      const tag = wire.tag(end);
      if (tag === KEY) text = wire.text(end);
      else wire.skip(tag, end);
    }
    return text;
  }

  #time(end: number): string | null {
    const wire = this.#wire;
    if (wire.at === end) return null;
    let seconds = 0;
    while (wire.at < end) {
      const tag = wire.tag(end);
      if (tag === SECONDS) seconds = wire.int(end);
      else wire.skip(tag, end);
    }
    return timeText(seconds);
  }

  #intOrString(end: number): number | string {
    const wire = this.#wire;
    let [isText, int, text] = [false, 0, ""];
    while (wire.at < end) {
      const tag = wire.tag(end);
      if (tag === INT_OR_STRING.type) isText = wire.int(end) === 1;
      else if (tag === INT_OR_STRING.int) int = wire.int(end);
      else if (tag === INT_OR_STRING.text) text = wire.text(end);
      else wire.skip(tag, end);
    }
    return isText ? text : int;
  }
}

function listIn(into: Fields, name: string): unknown[] {
  const known = into[name];
  if (Array.isArray(known)) return known;
  const list: unknown[] = [];
  into[name] = list;
  return list;
}

function mapIn(into: Fields, name: string): Fields {
  const known = into[name];
  if (isRecord(known)) return known;
  const map: Fields = {};
  into[name] = map;
  return map;
}

/** Tags of map entries, and of messages that aren't objects in JSON. */
const KEY = (1 << 3) | LENGTH;
const VALUE = (2 << 3) | LENGTH;
const SECONDS = (1 << 3) | VARINT;
const INT_OR_STRING = { type: (1 << 3) | VARINT, int: (2 << 3) | VARINT, text: (3 << 3) | LENGTH } as const;

const TIMES = 1_024;
/** Cache of times: conditions of an object often share them. */
const timeSeconds = new Float64Array(TIMES).fill(Number.NaN);
const timeTexts: string[] = Array.from({ length: TIMES }, () => "");

function timeText(seconds: number): string {
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND)
    throw new MalformedError(`a time must be of the years 1 to 9999, got ${seconds} s since 1970`);
  const slot = seconds & (TIMES - 1);
  if (timeSeconds[slot] === seconds) return timeTexts[slot]!;
  const text = `${new Date(seconds * 1_000).toISOString().slice(0, 19)}Z`;
  timeSeconds[slot] = seconds;
  timeTexts[slot] = text;
  return text;
}

function mismatch(message: Message, { name, holds }: Field): MalformedError {
  return new MalformedError(`${name} of ${message.name} is no ${holds}`);
}
