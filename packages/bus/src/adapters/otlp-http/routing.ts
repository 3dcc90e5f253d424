import { RESOURCE_ATTRIBUTES, TOPICS } from "@isochrone/telemetry";

import type { OutgoingRecord } from "../../ports/port.ts";
import { fieldOf, fieldsOf, type FieldAllowance } from "./wire.ts";

/** Header that names the topic of a record of ours. */
export const TOPIC_HEADER = "isochrone-topic";
/** Header with the record's key, percent-encoded as by encodeURIComponent. */
export const KEY_HEADER = "isochrone-key";

/** One record and where it belongs. */
export interface Routed {
  readonly topic: string;
  readonly record: OutgoingRecord;
}

// Field numbers of opentelemetry-proto: ExportMetricsServiceRequest, ResourceMetrics, Resource, KeyValue,
// AnyValue, ScopeMetrics, Metric.
const RESOURCE_METRICS = 1;
const RESOURCE = 1;
const RESOURCE_ATTRIBUTE = 1;
const SCOPE_METRICS = 2;
const METRIC = 2;
const METRIC_NAME = 1;
const KEY = 1;
const VALUE = 2;
const STRING_VALUE = 1;

const NOTHING = new Uint8Array(0);

/** By rank; what no prefix claims is usage. */
const TOPIC_OF_PREFIX: readonly (readonly [prefix: string, topic: string])[] = [
  ["isochrone.probe.", TOPICS.probe],
  ["istio_", TOPICS.traffic],
  ["traces_service_graph_", TOPICS.traffic],
  ["hubble_", TOPICS.traffic],
];

/** Resources of one body: more than a Collector puts into its largest batches. */
const MAX_RESOURCES = 16_384;
/** Records that one body becomes. */
const MAX_RECORDS = 4_096;
/** Fields that are looked at on the way: some 50 for each resource with 25 attributes. */
const MAX_FIELDS = 600_000;

interface Piece {
  readonly topic: string;
  readonly key: string;
  readonly raw: Uint8Array[];
}

/**
 * Splits the request of a foreign sender, resource by resource, into one record per topic and node. Byte
 * ranges are copied as they are: nothing that we don't know of is lost. Throws RangeError for bytes that are
 * no protobuf message, and for messages of too many parts.
 *
 * @param fallbackKey for resources without a node name
 */
export function routeForeign(
  body: Uint8Array,
  fallbackKey: string,
  headers: OutgoingRecord["headers"],
): Routed[] {
  const pieces = new Map<string, Piece>();
  const allowance: FieldAllowance = { left: MAX_FIELDS };
  let resources = 0;
  for (const field of fieldsOf(body, allowance)) {
    if (field.number !== RESOURCE_METRICS) continue;
    if (++resources > MAX_RESOURCES) throw tooMany("resources", MAX_RESOURCES);
    const topic = topicOf(field.data, allowance);
    const key = nodeOf(field.data, allowance) ?? fallbackKey;
    const id = `${topic}\n${key}`;
    const piece = pieces.get(id);
    if (piece) piece.raw.push(field.raw);
    else if (pieces.size >= MAX_RECORDS) throw tooMany("topics and nodes", MAX_RECORDS);
    else pieces.set(id, { topic, key, raw: [field.raw] });
  }
  return Array.from(pieces.values(), ({ topic, key, raw }) => ({
    topic,
    record: { key, value: joined(raw), headers },
  }));
}

/** Checks the outermost structure only: what is inside is the consumer's to judge. */
export function checkStructure(body: Uint8Array): void {
  const allowance: FieldAllowance = { left: MAX_FIELDS };
  let resources = 0;
  for (const field of fieldsOf(body, allowance)) {
    if (field.number !== RESOURCE_METRICS) continue;
    if (++resources > MAX_RESOURCES) throw tooMany("resources", MAX_RESOURCES);
    for (const _ of fieldsOf(field.data, allowance));
  }
}

function tooMany(what: string, limit: number): RangeError {
  return new RangeError(`it must hold at most ${limit} ${what}`);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((bytes, piece) => bytes + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** By the first metric: receivers put one target's metrics into one resource. */
function topicOf(resourceMetrics: Uint8Array, allowance: FieldAllowance): string {
  const scope = fieldOf(resourceMetrics, SCOPE_METRICS, allowance) ?? NOTHING;
  const metric = fieldOf(scope, METRIC, allowance) ?? NOTHING;
  const name = textOf(fieldOf(metric, METRIC_NAME, allowance));
  return TOPIC_OF_PREFIX.find(([prefix]) => name.startsWith(prefix))?.[1] ?? TOPICS.usage;
}

function nodeOf(resourceMetrics: Uint8Array, allowance: FieldAllowance): string | null {
  const resource = fieldOf(resourceMetrics, RESOURCE, allowance);
  if (!resource) return null;
  for (const attribute of fieldsOf(resource, allowance)) {
    if (attribute.number !== RESOURCE_ATTRIBUTE) continue;
    if (textOf(fieldOf(attribute.data, KEY, allowance)) !== RESOURCE_ATTRIBUTES.node) continue;
    const value = fieldOf(attribute.data, VALUE, allowance);
    return (value && textOf(fieldOf(value, STRING_VALUE, allowance))) || null;
  }
  return null;
}

/** No name or key of ours is longer; nobody's text is worth decoding megabytes. */
const MAX_TEXT_BYTES = 4096;

function textOf(bytes: Uint8Array | undefined): string {
  if (bytes !== undefined && bytes.length > MAX_TEXT_BYTES) return "";
  return bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8") : "";
}
