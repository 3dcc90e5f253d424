import type { AttributeValue, Attributes } from "./model.ts";
import { WireReader } from "./reader.ts";

const KEY_VALUE_FIELDS = (1 << 1) | (1 << 2);
const ANY_VALUE_FIELDS = 0xfe;

const reader = new WireReader();

/**
 * Reads the KeyValues in field `field` of a message. Keeps only strings, numbers and booleans; the last of
 * equal keys wins.
 */
export function readAttributes(bytes: Buffer, start: number, end: number, field: number): Attributes {
  const attributes: Record<string, AttributeValue> = {};
  walk(bytes, start, end, field, { text: (from, to) => bytes.toString("utf8", from, to), attributes });
  return attributes;
}

/** Validates without creating strings. @returns the number of KeyValues @throws OtlpError `malformed` */
export function checkAttributes(bytes: Uint8Array, start: number, end: number, field: number): number {
  return walk(bytes, start, end, field, CHECK_ONLY);
}

interface Sink {
  text(from: number, to: number): string;
  readonly attributes: Record<string, AttributeValue> | null;
}

const CHECK_ONLY: Sink = { text: () => "", attributes: null };

function walk(bytes: Uint8Array, start: number, end: number, field: number, sink: Sink): number {
  reader.reset(bytes);
  reader.pos = start;
  reader.limit = end;
  const wanted = field * 8 + 2;
  let pairs = 0;
  while (reader.pos < end) {
    const tag = reader.tag();
    if (tag === wanted) {
      readPair(sink);
      pairs++;
    } else reader.skipUnknown(tag, 1 << field);
  }
  reader.release();
  return pairs;
}

function readPair(sink: Sink): void {
  const outer = reader.enter();
  let key = "";
  let value: AttributeValue | undefined;
  while (reader.pos < reader.limit) {
    const tag = reader.tag();
    if (tag === 0x0a) key = readText(sink);
    else if (tag === 0x12) value = readValue(sink, value);
    else reader.skipUnknown(tag, KEY_VALUE_FIELDS);
  }
  reader.leave(outer);
  const { attributes } = sink;
  if (value === undefined || attributes === null) return;
  // Assigning this name would set the prototype.
  if (key === "__proto__") {
    Object.defineProperty(attributes, key, { value, enumerable: true, configurable: true, writable: true });
  } else attributes[key] = value;
}

/** Reads an AnyValue, of which the last oneof member wins. */
function readValue(sink: Sink, before: AttributeValue | undefined): AttributeValue | undefined {
  const outer = reader.enter();
  let value = before;
  while (reader.pos < reader.limit) {
    const tag = reader.tag();
    switch (tag) {
      case 0x0a: // string_value
        value = readText(sink);
        break;
      case 0x10: // bool_value
        value = reader.uint() !== 0;
        break;
      case 0x18: // int_value
        value = reader.int();
        break;
      case 0x21: // double_value
        value = reader.double();
        break;
      case 0x2a: // array_value
      case 0x32: // kvlist_value
      case 0x3a: // bytes_value
        reader.skip(tag);
        value = undefined;
        break;
      default:
        reader.skipUnknown(tag, ANY_VALUE_FIELDS);
    }
  }
  reader.leave(outer);
  return value;
}

function readText(sink: Sink): string {
  const end = reader.end();
  const text = sink.text(reader.pos, end);
  reader.pos = end;
  return text;
}
