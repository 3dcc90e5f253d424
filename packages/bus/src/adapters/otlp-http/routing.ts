import { RESOURCE_ATTRIBUTES, TOPICS } from "@isochrone/telemetry";

import type { OutgoingRecord } from "../../port.ts";
import { fieldOf, fieldsOf } from "./wire.ts";

/** Header that names the topic of a record of ours. */
export const TOPIC_HEADER = "isochrone-topic";
/** Header with the record's key, percent-encoded as by encodeURIComponent. */
export const KEY_HEADER = "isochrone-key";

/** One record and where it belongs. */
export interface Routed {
  readonly topic: string;
  readonly record: OutgoingRecord;
}

// Field numbers of opentelemetry-proto: ExportMetricsServiceRequest, ResourceMetrics, Resource, KeyValue, AnyValue, ScopeMetrics, Metric.
const RESOURCE_METRICS = 1;
const RESOURCE = 1;
const RESOURCE_ATTRIBUTE = 1;
const SCOPE_METRICS = 2;
const METRIC = 2;
const METRIC_NAME = 1;
const KEY = 1;
const VALUE = 2;
const STRING_VALUE = 1;

/** By rank; what no prefix claims is usage. */
const TOPIC_OF_PREFIX: readonly (readonly [prefix: string, topic: string])[] = [
  ["isochrone.probe.", TOPICS.probe],
  ["istio_", TOPICS.traffic],
  ["traces_service_graph_", TOPICS.traffic],
  ["hubble_", TOPICS.traffic],
];

/**
 * Splits the request of a foreign sender, resource by resource, into one record per topic and node. Byte ranges are copied as they are:
 * nothing that we don't know of is lost. Throws RangeError for bytes that are no protobuf message.
 *
 * @param fallbackKey for resources without a node name
 */
export function routeForeign(
  body: Uint8Array,
  fallbackKey: string,
  headers: OutgoingRecord["headers"],
): Routed[] {
  const pieces = new Map<string, { topic: string; key: string; raw: Uint8Array[] }>();
  for (const field of fieldsOf(body)) {
    if (field.number !== RESOURCE_METRICS) continue;
    const topic = topicOf(field.data);
    const key = nodeOf(field.data) ?? fallbackKey;
    const id = `${topic}\n${key}`;
    const piece = pieces.get(id);
    if (piece) piece.raw.push(field.raw);
    else pieces.set(id, { topic, key, raw: [field.raw] });
  }
  return [...pieces.values()].map(({ topic, key, raw }) => ({
    topic,
    record: { key, value: new Uint8Array(Buffer.concat(raw)), headers },
  }));
}

/** Checks the outermost structure only: what is inside is the consumer's to judge. */
export function checkStructure(body: Uint8Array): void {
  for (const field of fieldsOf(body)) {
    if (field.number === RESOURCE_METRICS) for (const _ of fieldsOf(field.data));
  }
}

/** By the first metric: receivers put one target's metrics into one resource. */
function topicOf(resourceMetrics: Uint8Array): string {
  const metric = fieldOf(fieldOf(resourceMetrics, SCOPE_METRICS) ?? new Uint8Array(0), METRIC);
  const name = textOf(fieldOf(metric ?? new Uint8Array(0), METRIC_NAME));
  return TOPIC_OF_PREFIX.find(([prefix]) => name.startsWith(prefix))?.[1] ?? TOPICS.usage;
}

function nodeOf(resourceMetrics: Uint8Array): string | null {
  const resource = fieldOf(resourceMetrics, RESOURCE);
  if (!resource) return null;
  for (const attribute of fieldsOf(resource)) {
    if (attribute.number !== RESOURCE_ATTRIBUTE) continue;
    if (textOf(fieldOf(attribute.data, KEY)) !== RESOURCE_ATTRIBUTES.node) continue;
    const value = fieldOf(attribute.data, VALUE);
    return (value && textOf(fieldOf(value, STRING_VALUE))) || null;
  }
  return null;
}

function textOf(bytes: Uint8Array | undefined): string {
  return bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8") : "";
}
