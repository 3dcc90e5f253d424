import { StoreError } from "../../../store/errors.ts";
import { isObject } from "../../../store/json.ts";
import type { KubernetesObject } from "../../../store/port.ts";
import { messageNamed } from "./messages.ts";
import { ObjectReader, type Fields } from "./objects.ts";
import { LENGTH, MalformedError, Wire } from "./wire.ts";

const MAGIC = Buffer.from("k8s\0");
const READ: ReadonlySet<string> = new Set([
  "v1 Pod",
  "v1 PodList",
  "v1 Status",
  "meta.k8s.io/v1 PartialObjectMetadata",
  "meta.k8s.io/v1 PartialObjectMetadataList",
]);

interface BinaryObject<T> {
  readonly value: T;
  /** Name of an unknown field, for error messages. Null: all are known. */
  readonly unknownField: string | null;
}

/**
 * Hands items one by one to `keep` and retains only its results. Throws StoreError `unavailable` if it isn't
 * a list.
 */
export function readList(
  bytes: Buffer,
  act: string,
  keep: (item: KubernetesObject) => KubernetesObject,
): BinaryObject<{ readonly metadata: Fields; readonly items: KubernetesObject[] }> {
  return guarded(act, () => {
    const { kind, wire, end } = opened(bytes);
    const { fields } = messageNamed(kind);
    const [metadataOf, itemOf] = [fields[1]?.message, fields[2]?.message];
    if (!kind.endsWith("List") || !metadataOf || !itemOf) throw new MalformedError(`${kind} is no list`);
    const reader = new ObjectReader(wire);
    const items: KubernetesObject[] = [];
    let metadata: Fields = {};
    while (wire.at < end) {
      const tag = wire.tag(end);
      if (tag === METADATA) metadata = reader.read(metadataOf, wire.endOfValue(end));
      else if (tag === ITEM) items.push(keep(whole(reader.read(itemOf, wire.endOfValue(end)))));
      else if (!wire.skip(tag, end)) reader.unknownField ??= `${kind} ${tag >>> 3}`;
    }
    return { value: { metadata, items }, unknownField: reader.unknownField };
  });
}

export function readObject(bytes: Buffer, act: string): BinaryObject<Fields> {
  return guarded(act, () => objectIn(bytes));
}

/** Reads a watch event from a frame without its length. */
export function readEvent(
  frame: Buffer,
  act: string,
): BinaryObject<{ readonly type: string; readonly object: KubernetesObject }> {
  return guarded(act, () => {
    const [type = NONE, object = NONE] = bytesOf(frame, 2);
    const [raw = NONE] = bytesOf(object, 1);
    const { value, unknownField } = objectIn(raw);
    return { value: { type: type.toString(), object: whole(value) }, unknownField };
  });
}

const METADATA = (1 << 3) | LENGTH;
const ITEM = (2 << 3) | LENGTH;

function objectIn(bytes: Buffer): BinaryObject<Fields> {
  const { apiVersion, kind, wire, end } = opened(bytes);
  const reader = new ObjectReader(wire);
  const value = reader.read(messageNamed(kind), end, { apiVersion, kind });
  return { value, unknownField: reader.unknownField };
}

function opened(bytes: Buffer): { apiVersion: string; kind: string; wire: Wire; end: number } {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new MalformedError("no object in binary form");
  const [type = NONE, raw = NONE, encoding = NONE] = bytesOf(bytes.subarray(MAGIC.length), 3);
  const [apiVersion = NONE, kind = NONE] = bytesOf(type, 2);
  const [version, name] = [apiVersion.toString(), kind.toString()];
  if (!READ.has(`${version} ${name}`) || encoding.length > 0)
    throw new MalformedError(`not read in binary form: ${version} ${name} ${encoding.toString()}`);
  if (raw.length === 0) throw new MalformedError(`a ${name} without content`);
  return { apiVersion: version, kind: name, wire: new Wire(raw), end: raw.length };
}

function bytesOf(bytes: Buffer, count: number): Buffer[] {
  const found: Buffer[] = Array.from({ length: count }, () => NONE);
  for (const wire = new Wire(bytes); wire.at < bytes.length;) {
    const tag = wire.tag(bytes.length);
    if ((tag & 7) !== LENGTH || tag >>> 3 > count) {
      wire.skip(tag, bytes.length);
      continue;
    }
    const end = wire.endOfValue(bytes.length);
    found[(tag >>> 3) - 1] = bytes.subarray(wire.at, end);
    wire.at = end;
  }
  return found;
}

const NONE = Buffer.alloc(0);

function whole(object: Fields): KubernetesObject {
  if (isObject(object)) return object;
  throw new MalformedError("an object without metadata");
}

function guarded<T>(act: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error;
    throw new StoreError("unavailable", `${act}: the answer's binary form can't be read: ${error.message}`, {
      cause: error,
    });
  }
}
