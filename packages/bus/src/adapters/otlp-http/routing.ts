import { RESOURCE_ATTRIBUTES, TOPICS } from "@isochrone/telemetry";

import type { OutgoingRecord } from "../../ports/port.ts";
import { fieldOf, fieldsOf, type FieldAllowance } from "./wire.ts";

/** Names the topic of a record from our publishers. */
export const TOPIC_HEADER = "isochrone-topic";
/** The record's key, percent-encoded by encodeURIComponent. */
export const KEY_HEADER = "isochrone-key";

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

/** Topics by metric prefix, in order of precedence. Default: usage. */
const TOPIC_OF_PREFIX: readonly (readonly [prefix: string, topic: string])[] = [
  ["isochrone.probe.", TOPICS.probe],
  ["istio_", TOPICS.traffic],
  ["traces_service_graph_", TOPICS.traffic],
  ["hubble_", TOPICS.traffic],
];

/** Maximum resources per body; more than the Collector's largest batches have. */
const MAX_RESOURCES = 16_384;
const MAX_RECORDS = 4_096;
/** Maximum fields visited per body: about 50 per resource with 25 attributes. */
const MAX_FIELDS = 600_000;

interface Piece {
  readonly topic: string;
  readonly key: string;
  readonly raw: Uint8Array[];
}

/**
 * Splits a foreign sender's request by resource into one record per topic and node. Copies byte ranges, which
 * keeps unknown fields. Throws RangeError for invalid protobuf and for too many parts.
 * @param fallbackKey key for resources without a node name
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

/** Checks only the outermost structure; the consumer validates the content. */
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

/** Decides by the first metric, because receivers put one target's metrics into one resource. */
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

/** Maximum bytes of a decoded text; longer than any name or key of ours. */
const MAX_TEXT_BYTES = 4096;

function textOf(bytes: Uint8Array | undefined): string {
  if (bytes !== undefined && bytes.length > MAX_TEXT_BYTES) return "";
  return bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8") : "";
}
