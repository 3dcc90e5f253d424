import {
  ATTRIBUTE_FIELDS,
  encodeAttributes,
  PROBE_ATTRIBUTES,
  PROBE_METRICS,
  RecordWriter,
  RESOURCE_ATTRIBUTES,
  type Attributes,
  type EncodedAttributes,
  type ExponentialHistogramData,
  type MetricShape,
  type Outcome,
} from "@isochrone/telemetry";
import { entriesOf } from "@isochrone/primitives";
import { FLOWS } from "../channel-key.ts";
import type { PacketCount } from "../links/link-counts.ts";
import { USAGE_COUNTERS } from "../ingest/sink-tables.ts";
import type { WindowShape } from "../windows/window-shape.ts";
import { isOnlyPresent, PACKET_COUNTS, paneOf } from "./apply-delta.ts";
import type { ChannelContribution, SideContribution } from "./channel-delta.ts";
import { lastPaneOf, type CoveredTime } from "./coverage-delta.ts";
import type { Contributions } from "./delta-tables.ts";
import type { LinkContribution } from "./link-delta.ts";
import { PANE_ATTRIBUTES, PANE_METRICS } from "./names.ts";
import type { PairContribution } from "./pair-delta.ts";
import type { PanePart } from "./pane-parts.ts";
import type { UsageContribution } from "./usage-delta.ts";

const SCOPE = { name: "isochrone.aggregator" } as const;
/**
 * A piece of a record's value: a whole request of its own, and so is any number of them one after the other.
 * It is a point longer at most.
 */
const PIECE_BYTES = 128 * 1024;

const RTT: MetricShape = {
  kind: "exponentialHistogram",
  name: PROBE_METRICS.rtt,
  unit: "s",
  temporality: "delta",
};
const VARIATION = sum(PROBE_METRICS.rttVariation);
const VARIATION_COUNT = sum(PROBE_METRICS.rttVariationCount);
const PACKETS = sum(PROBE_METRICS.packets);
const BANDWIDTH: MetricShape = { kind: "gauge", name: PROBE_METRICS.bandwidth };
/** Metrics of parts and of covered times. */
interface PaneShapes {
  readonly part: MetricShape;
  readonly cover: MetricShape;
}

const CHANNEL: PaneShapes = { part: sum(PANE_METRICS.channelPart), cover: sum(PANE_METRICS.channelCover) };
const DEMAND: PaneShapes = { part: sum(PANE_METRICS.demandPart), cover: sum(PANE_METRICS.demandCover) };
const USAGE_PART = sum(PANE_METRICS.usagePart);
const USAGE_COVER = sum(PANE_METRICS.usageCover);
const CPU_LEVEL: MetricShape = { kind: "histogram", name: PANE_METRICS.cpuLevel, temporality: "delta" };
const MEMORY: MetricShape = { kind: "gauge", name: PANE_METRICS.memory };

function sum(name: string): MetricShape {
  return { kind: "sum", name, temporality: "delta" };
}

const NUMBER = ATTRIBUTE_FIELDS.sum;

const OUTCOMES: ReadonlyMap<PacketCount, EncodedAttributes> = new Map(
  entriesOf<PacketCount, Outcome>({
    sent: "sent",
    received: "received",
    lost: "lost",
    late: "late",
    sendErrors: "send_error",
  }).map(([count, outcome]) => [count, encodeAttributes(NUMBER, { [PROBE_ATTRIBUTES.outcome]: outcome })]),
);
const FLOW_NAMES = encodedEach(PANE_ATTRIBUTES.flow, FLOWS);
const COUNTER_NAMES = encodedEach(PANE_ATTRIBUTES.counter, USAGE_COUNTERS);

function encodedEach<N extends string>(
  attribute: string,
  names: readonly N[],
): ReadonlyMap<N, EncodedAttributes> {
  return new Map(names.map((name) => [name, encodeAttributes(NUMBER, { [attribute]: name })]));
}

/** Its buffer has grown to what pieces need; null while it is in use. */
let spare: RecordWriter | null = null;

/** Writes points one after the other, and pieces as they get full. */
class DeltaWriter {
  readonly #pieces: Uint8Array[] = [];
  readonly #records: RecordWriter;
  #metric: MetricShape | null = null;

  constructor() {
    this.#records = spare ?? new RecordWriter({}, SCOPE);
    spare = null;
  }

  setResource(resource: Attributes): void {
    this.#endMetric();
    this.#records.setResource(resource);
  }

  /** @param startMs 0 for points without a start */
  number(
    metric: MetricShape,
    startMs: number,
    timeMs: number,
    value: number,
    attributes: EncodedAttributes,
    more?: EncodedAttributes,
  ): void {
    this.#begin(metric);
    this.#records.number(startMs, timeMs, value, attributes, more);
  }

  rtt(startMs: number, timeMs: number, data: ExponentialHistogramData, attributes: EncodedAttributes): void {
    this.#begin(RTT);
    this.#records.exponentialHistogram(startMs, timeMs, data, attributes);
  }

  level(timeMs: number, count: number, total: number, attributes: EncodedAttributes): void {
    this.#begin(CPU_LEVEL);
    this.#records.histogram(0, timeMs, { count, sum: total }, attributes);
  }

  finish(): readonly Uint8Array[] {
    this.#finishPiece();
    spare = this.#records;
    return this.#pieces;
  }

  #begin(metric: MetricShape): void {
    if (this.#records.size > PIECE_BYTES) this.#finishPiece();
    if (metric === this.#metric) return;
    this.#endMetric();
    this.#records.beginMetric(metric);
    this.#metric = metric;
  }

  #endMetric(): void {
    if (this.#metric !== null) this.#records.endMetric();
    this.#metric = null;
  }

  #finishPiece(): void {
    this.#endMetric();
    const piece = this.#records.finish();
    if (piece !== null) this.#pieces.push(piece);
  }
}

/**
 * OTLP of delta temporality, in pieces of some 100 kB: each is a whole ExportMetricsServiceRequest, and so
 * are several one after the other. Times are on the aggregator's clock.
 */
export function encodeContributions(
  { links, pairs, channels, demand, pods, nodes }: Contributions,
  shape: WindowShape,
): readonly Uint8Array[] {
  const writer = new DeltaWriter();
  for (const [source, ofSource] of Map.groupBy(links, ({ link }) => link.key.source)) {
    writer.setResource({ [RESOURCE_ATTRIBUTES.node]: source });
    writeLinks(writer, ofSource);
  }
  for (const [source, ofSource] of Map.groupBy(pairs, (pair) => pair.source)) {
    writer.setResource({ [RESOURCE_ATTRIBUTES.node]: source });
    for (const pair of ofSource) writePair(writer, pair);
  }
  writer.setResource({});
  writeChannels(writer, CHANNEL, channels, shape);
  writeChannels(writer, DEMAND, demand, shape);
  const usages = [...pods, ...nodes];
  writeCounters(writer, usages, shape);
  writeLevels(writer, usages);
  return writer.finish();
}

/** Metric by metric: their heads would be as long as the points. */
function writeLinks(writer: DeltaWriter, links: readonly LinkContribution[]): void {
  for (const { link, parts } of links)
    for (const { startMs, eventMs, rtt } of parts)
      if (rtt !== null)
        writer.rtt(startMs, eventMs, rtt.toData(), link.attributesAs(ATTRIBUTE_FIELDS.exponentialHistogram));
  for (const { link, parts } of links)
    for (const { startMs, eventMs, variationSeconds } of parts)
      if (variationSeconds !== 0)
        writer.number(VARIATION, startMs, eventMs, variationSeconds, link.attributesAs(NUMBER));
  for (const { link, parts } of links)
    for (const { startMs, eventMs, variationCount } of parts)
      if (variationCount !== 0)
        writer.number(VARIATION_COUNT, startMs, eventMs, variationCount, link.attributesAs(NUMBER));
  for (const link of links) writePackets(writer, link);
}

function writePackets(writer: DeltaWriter, { link, parts }: LinkContribution): void {
  for (const part of parts) {
    const { startMs, eventMs } = part;
    const isOnlyThere = isOnlyPresent(part);
    for (const count of PACKET_COUNTS)
      if (part[count] !== 0 || (isOnlyThere && count === "sent"))
        writer.number(PACKETS, startMs, eventMs, part[count], link.attributesAs(NUMBER), OUTCOMES.get(count));
  }
}

function writePair(writer: DeltaWriter, { target, bursts }: PairContribution): void {
  for (const { transport, eventMs, bitsPerSecond } of bursts) {
    const attributes = encodeAttributes(NUMBER, {
      [PROBE_ATTRIBUTES.destinationNode]: target,
      [PROBE_ATTRIBUTES.transport]: transport,
    });
    writer.number(BANDWIDTH, 0, eventMs, bitsPerSecond, attributes);
  }
}

function writeChannels(
  writer: DeltaWriter,
  { part, cover: covered }: PaneShapes,
  channels: readonly ChannelContribution[],
  shape: WindowShape,
): void {
  for (const { sides } of channels) for (const side of sides) writeFlows(writer, part, side, shape);
  for (const { sides } of channels)
    for (const { wire, cover, flows } of sides)
      if (toldByPart(cover, flows[0]?.parts ?? [], shape) === null)
        for (const { fromMs, toMs } of cover)
          writer.number(covered, fromMs, toMs, 0, wire.attributesAs(NUMBER));
}

function writeFlows(
  writer: DeltaWriter,
  metric: MetricShape,
  { wire, cover, flows }: SideContribution,
  shape: WindowShape,
): void {
  // The first flow tells the time of all.
  let told = toldByPart(cover, flows[0]?.parts ?? [], shape);
  for (const { flow, parts } of flows) {
    const name = FLOW_NAMES.get(flow)!;
    if (told === null && parts.length === 0)
      writer.number(metric, 0, paneOf(cover, shape), 0, wire.attributesAs(NUMBER), name);
    writeParts(writer, metric, told, parts, [wire.attributesAs(NUMBER), name]);
    told = null;
  }
}

function writeCounters(writer: DeltaWriter, usages: readonly UsageContribution[], shape: WindowShape): void {
  for (const { usage, counters } of usages)
    for (const { counter, cover, parts } of counters)
      writeParts(writer, USAGE_PART, toldByPart(cover, parts, shape), parts, [
        usage.attributesAs(NUMBER),
        COUNTER_NAMES.get(counter)!,
      ]);
  for (const { usage, counters } of usages)
    for (const { counter, cover, parts } of counters)
      if (toldByPart(cover, parts, shape) === null)
        for (const { fromMs, toMs } of cover)
          writer.number(USAGE_COVER, fromMs, toMs, 0, usage.attributesAs(NUMBER), COUNTER_NAMES.get(counter));
}

/** @param told the time that the last part's point tells; null: each part's point tells its pane alone */
function writeParts(
  writer: DeltaWriter,
  metric: MetricShape,
  told: CoveredTime | null,
  parts: readonly PanePart[],
  [attributes, more]: readonly [EncodedAttributes, EncodedAttributes],
): void {
  if (told !== null) writer.number(metric, told.fromMs, told.toMs, parts.at(-1)?.part ?? 0, attributes, more);
  const rest = told === null ? parts.length : parts.length - 1;
  for (let i = 0; i < rest; i++) {
    const { paneStartMs, part } = parts[i]!;
    writer.number(metric, 0, paneStartMs, part, attributes, more);
  }
}

/**
 * The time that a counter speaks for, when the point of its last part can tell it: it is one stretch, and the
 * part lies where that ends. Most are. Other times than whole milliseconds could come to lie in another pane
 * on the way.
 */
function toldByPart(
  cover: readonly CoveredTime[],
  parts: readonly PanePart[],
  shape: WindowShape,
): CoveredTime | null {
  const [only] = cover;
  if (only === undefined || cover.length > 1) return null;
  if (!Number.isInteger(only.fromMs) || !Number.isInteger(only.toMs)) return null;
  const last = parts.at(-1);
  return last === undefined || last.paneStartMs === lastPaneOf(only, shape) ? only : null;
}

function writeLevels(writer: DeltaWriter, usages: readonly UsageContribution[]): void {
  for (const { cpuLevels } of usages)
    for (const { wire, parts } of cpuLevels)
      for (const { newestMs, sum: total, count } of parts)
        writer.level(newestMs, count, total, wire.attributesAs(ATTRIBUTE_FIELDS.histogram));
  for (const { memory } of usages)
    for (const { wire, timeMs, value } of memory)
      writer.number(MEMORY, 0, timeMs, value, wire.attributesAs(NUMBER));
}
