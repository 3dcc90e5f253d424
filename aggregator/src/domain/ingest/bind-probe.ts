import {
  METHODS,
  PROBE_ATTRIBUTES,
  PROBE_METRICS,
  RESOURCE_ATTRIBUTES,
  type AttributeValue,
  type ExponentialHistogramData,
  type Method,
  type Outcome,
  type Series,
} from "@isochrone/telemetry";
import { TRANSPORTS, type Transport } from "../bandwidth/bandwidth.ts";
import type { PacketCount } from "../links/link-counts.ts";
import type { LinkKey } from "../links/links.ts";
import type { PointTime } from "../point-time.ts";
import type { LinkTarget, PairTarget, SinkTables } from "./sink-tables.ts";
import { NOT_YOURS, UNUSED_SINKS, type Sink } from "./sink.ts";
import { OPEN_PERMIT, type Permit } from "../speakers/permit.ts";
import { textOf } from "../text.ts";

const COUNTS: ReadonlyMap<string, PacketCount> = new Map<Outcome, PacketCount>([
  ["sent", "sent"],
  ["received", "received"],
  ["lost", "lost"],
  ["late", "late"],
  ["send_error", "sendErrors"],
]);
/** Metrics about the probes themselves, such as costs and results of bandwidth tests. No graph uses them. */
const OWN_AFFAIRS: ReadonlySet<string> = new Set([
  PROBE_METRICS.bandwidthTests,
  PROBE_METRICS.bandwidthBytes,
]);
const IGNORED: Sink = { live: true, unused: null };

class RttSink implements Sink {
  readonly unused = null;
  readonly #link: LinkTarget;

  constructor(link: LinkTarget) {
    this.#link = link;
  }

  get live(): boolean {
    return this.#link.live;
  }

  exponentialHistogram(point: PointTime, data: ExponentialHistogramData): boolean {
    return this.#link.addRtt(point, data);
  }
}

class PacketsSink implements Sink {
  readonly unused = null;
  readonly #link: LinkTarget;
  readonly #count: PacketCount;

  constructor(link: LinkTarget, count: PacketCount) {
    this.#link = link;
    this.#count = count;
  }

  get live(): boolean {
    return this.#link.live;
  }

  number(point: PointTime, value: number): void {
    this.#link.addPackets(point, this.#count, value);
  }
}

class VariationSink implements Sink {
  readonly unused = null;
  readonly #link: LinkTarget;
  readonly #field: "variationSeconds" | "variationCount";

  constructor(link: LinkTarget, field: "variationSeconds" | "variationCount") {
    this.#link = link;
    this.#field = field;
  }

  get live(): boolean {
    return this.#link.live;
  }

  number(point: PointTime, value: number): void {
    this.#link.addVariation(point, this.#field, value);
  }
}

class BandwidthSink implements Sink {
  readonly unused = null;
  readonly #table: ProbeTables["bandwidth"];
  readonly #pair: PairTarget;
  readonly #transport: Transport;

  constructor(table: ProbeTables["bandwidth"], pair: PairTarget, transport: Transport) {
    this.#table = table;
    this.#pair = pair;
    this.#transport = transport;
  }

  get live(): boolean {
    return this.#pair.live;
  }

  number(point: PointTime, value: number): void {
    if (this.#table.accepts(value)) this.#pair.take(this.#transport, point, value);
  }
}

type ProbeTables = Pick<SinkTables, "links" | "bandwidth">;

/** Counts must be deltas, as probes send them. */
export function bindProbe(
  series: Series,
  { links, bandwidth }: ProbeTables,
  permit: Permit = OPEN_PERMIT,
): Sink | null {
  if (!series.name.startsWith(PROBE_METRICS.rtt.slice(0, PROBE_METRICS.rtt.lastIndexOf(".") + 1)))
    return null;
  if (series.name === PROBE_METRICS.bandwidth) return bindBandwidth(series, bandwidth, permit);
  const isProbeMetric = Object.values(PROBE_METRICS).some((name) => name === series.name);
  if (!isProbeMetric || series.temporality !== "delta") return UNUSED_SINKS.unknown_metric;
  if (OWN_AFFAIRS.has(series.name)) return IGNORED;
  const source = textOf(series.resource[RESOURCE_ATTRIBUTES.node]);
  const target = textOf(series.attributes[PROBE_ATTRIBUTES.destinationNode]);
  const method = methodOf(series.attributes[PROBE_ATTRIBUTES.method]);
  const ipFamily = ipFamilyOf(series.attributes[PROBE_ATTRIBUTES.ipFamily]);
  if (source === null || target === null || method === null || ipFamily === null)
    return UNUSED_SINKS.unattributed;
  return bindLink(series, { source, target, method, ipFamily }, links, permit);
}

function bindLink(series: Series, key: LinkKey, links: ProbeTables["links"], permit: Permit): Sink {
  if (!permit.authority.speaksForNode(key.source)) return NOT_YOURS;
  const isStrange = hasStranger(key.source, key.target, permit);
  const link = links.open(key, isStrange ? permit.strangers : permit.rooms.links);
  if (link !== null) return sinkOf(series, link);
  return isStrange ? UNUSED_SINKS.unknown_node : UNUSED_SINKS.too_many_links;
}

function sinkOf(series: Series, link: LinkTarget): Sink {
  switch (series.name) {
    case PROBE_METRICS.rtt:
      return new RttSink(link);
    case PROBE_METRICS.rttVariation:
      return new VariationSink(link, "variationSeconds");
    case PROBE_METRICS.rttVariationCount:
      return new VariationSink(link, "variationCount");
    default: {
      const outcome = textOf(series.attributes[PROBE_ATTRIBUTES.outcome]);
      if (outcome === null) return UNUSED_SINKS.unattributed;
      const count = COUNTS.get(outcome);
      return count === undefined ? IGNORED : new PacketsSink(link, count);
    }
  }
}

function hasStranger(source: string, target: string, { facts }: Permit): boolean {
  return facts.isNode(source) === "no" || facts.isNode(target) === "no";
}

function bindBandwidth(series: Series, bandwidth: ProbeTables["bandwidth"], permit: Permit): Sink {
  if (series.kind !== "gauge") return UNUSED_SINKS.unknown_metric;
  const source = textOf(series.resource[RESOURCE_ATTRIBUTES.node]);
  const target = textOf(series.attributes[PROBE_ATTRIBUTES.destinationNode]);
  const value = series.attributes[PROBE_ATTRIBUTES.transport];
  const transport = TRANSPORTS.find((known) => known === value);
  if (source === null || target === null || transport === undefined) return UNUSED_SINKS.unattributed;
  if (!permit.authority.speaksForNode(source)) return NOT_YOURS;
  const isStrange = hasStranger(source, target, permit);
  const pair = bandwidth.open(source, target, isStrange ? permit.strangers : permit.rooms.pairs);
  if (pair !== null) return new BandwidthSink(bandwidth, pair, transport);
  return isStrange ? UNUSED_SINKS.unknown_node : UNUSED_SINKS.too_many_links;
}

function methodOf(value: AttributeValue | undefined): Method | null {
  return METHODS.find((method) => method === value) ?? null;
}

/** Accepts "4", "6", "ipv4", "ipv6", 4 and 6; absent: IPv4. */
function ipFamilyOf(value: AttributeValue | undefined): 4 | 6 | null {
  if (value === undefined) return 4;
  const text = String(value).toLowerCase().replace(/^ipv/, "");
  if (text === "4") return 4;
  return text === "6" ? 6 : null;
}
