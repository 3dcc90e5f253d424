// Encodes objects in binary form, for test and benchmark servers.
import { isPlainObject } from "../store/json.ts";
import { messageNamed, type Field, type Message } from "../adapters/api-server/protobuf/messages.ts";

type Fields = Readonly<Record<string, unknown>>;

const MAGIC = Buffer.from("k8s\0");
const VARINT = 0;
const LENGTH = 2;

/** Encodes an answer or object, followed by `more`. */
export function binaryObject(object: Fields, more: Buffer = Buffer.alloc(0)): Buffer {
  const { apiVersion, kind } = object;
  const type = [lengthy(1, text(apiVersion)), lengthy(2, text(kind))];
  const raw = Buffer.concat([binaryFields(messageNamed(text(kind).toString()), object), more]);
  return Buffer.concat([
    MAGIC,
    lengthy(1, Buffer.concat(type)),
    lengthy(2, raw),
    lengthy(3, text("")),
    lengthy(4, text("")),
  ]);
}

export function binaryItem(pod: Fields): Buffer {
  return lengthy(2, binaryFields(messageNamed("Pod"), pod));
}

export function binaryEvent(type: string, object: Buffer): Buffer {
  const event = Buffer.concat([lengthy(1, text(type)), lengthy(2, lengthy(1, object))]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}

export function binaryFields(message: Message, object: Fields): Buffer {
  const parts: Buffer[] = [];
  message.fields.forEach((field, number) => {
    if (field === undefined) return;
    if (field.isInline) {
      const inner = binaryFields(field.message!, object);
      if (inner.length > 0) parts.push(lengthy(number, inner));
      return;
    }
    const value = object[field.name];
    if (value === undefined || (value === null && field.holds !== "time")) return;
    if (field.shape === "list")
      for (const one of value as unknown[]) parts.push(binaryValue(number, field, one));
    else if (field.shape === "map") {
      for (const [key, one] of Object.entries(value as Fields))
        parts.push(lengthy(number, Buffer.concat([lengthy(1, text(key)), binaryValue(2, field, one)])));
    } else parts.push(binaryValue(number, field, value));
  });
  return Buffer.concat(parts);
}

export function lengthy(number: number, value: Buffer): Buffer {
  return Buffer.concat([varint(BigInt((number << 3) | LENGTH)), varint(BigInt(value.length)), value]);
}

export function numeric(number: number, value: number): Buffer {
  return Buffer.concat([varint(BigInt((number << 3) | VARINT)), varint(BigInt.asUintN(64, BigInt(value)))]);
}

function binaryValue(number: number, { holds, message }: Field, value: unknown): Buffer {
  if (holds === "bool" || holds === "int") return numeric(number, Number(value));
  if (holds === "message") return lengthy(number, binaryFields(message!, isPlainObject(value) ? value : {}));
  if (holds === "quantity") return lengthy(number, lengthy(1, text(value)));
  if (holds === "time")
    return lengthy(number, value === null ? Buffer.alloc(0) : time(text(value).toString()));
  if (holds === "intOrString") return lengthy(number, intOrString(value));
  return lengthy(number, text(value));
}

function time(rfc3339: string): Buffer {
  return Buffer.concat([numeric(1, Date.parse(rfc3339) / 1_000), numeric(2, 0)]);
}

function intOrString(value: unknown): Buffer {
  const isInt = typeof value === "number";
  return Buffer.concat([
    numeric(1, isInt ? 0 : 1),
    numeric(2, isInt ? value : 0),
    lengthy(3, text(isInt ? "" : value)),
  ]);
}

function text(value: unknown): Buffer {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    const last = rest < 0x80n;
    bytes.push(Number(rest & 0x7fn) | (last ? 0 : 0x80));
    if (last) return Buffer.from(bytes);
  }
}
