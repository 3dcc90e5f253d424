// Binds byte counters of sources other than Istio, by the table in @isochrone/telemetry's byte-sources.
import {
  AGENT_FAMILIES,
  CONNECTION_FAMILIES,
  LINKERD_FAMILIES,
  RESOURCE_ATTRIBUTES,
  SAMPLING_FAMILIES,
  type ByteFamily,
  type ByteReporter,
  type CounterTracks,
  type Increment,
  type Series,
} from "@isochrone/telemetry";
import { channelBetween, type ChannelKey } from "../channel-key.ts";
import { OPEN_PERMIT, type Permit } from "../speakers/permit.ts";
import { OUTSIDE_UNKNOWN, outsideNameOf } from "@isochrone/telemetry/outside";
import { knownName, textOf } from "../text.ts";
import { endOf, outsideEnd, outsideOf, type ResolvedEnd } from "./byte-ends.ts";
import type { ByteMemory } from "./byte-memory.ts";
import { openChannel } from "./bind-traffic.ts";
import { IncrementSink } from "./increments.ts";
import type { ChannelSideTarget, ChannelTarget, SinkTables } from "./sink-tables.ts";
import { NOT_YOURS, UNUSED_SINKS, type Sink, type Unused } from "./sink.ts";

const RULES: ReadonlyMap<string, ByteFamily> = new Map(
  [...AGENT_FAMILIES, ...LINKERD_FAMILIES, ...CONNECTION_FAMILIES].map((rule) => [rule.family, rule]),
);
const IGNORED: Sink = { live: true, unused: null };

interface Reading {
  readonly source: ResolvedEnd;
  readonly target: ResolvedEnd;
  readonly reporter: ByteReporter;
}

class ByteSink extends IncrementSink {
  readonly #channel: ChannelTarget;
  readonly #side: ChannelSideTarget;
  readonly #rule: ByteFamily;
  readonly #factor: () => number | null;
  readonly #isSame: () => boolean;
  readonly #onBytes: ((bytes: number) => void) | null;

  constructor(
    channel: ChannelTarget,
    parts: {
      readonly reporter: ByteReporter;
      readonly rule: ByteFamily;
      /** Scale of counted bytes; null: unknown. */
      readonly factor: () => number | null;
      readonly isSame: () => boolean;
      readonly onBytes: ((bytes: number) => void) | null;
    },
    series: Series,
    tracks: CounterTracks,
  ) {
    super(series, tracks);
    this.#channel = channel;
    this.#side = channel.side(parts.reporter);
    this.#rule = parts.rule;
    this.#factor = parts.factor;
    this.#isSame = parts.isSame;
    this.#onBytes = parts.onBytes;
  }

  get live(): boolean {
    return this.#channel.live && this.#isSame();
  }

  override get unused(): Unused | null {
    return this.#factor() === null ? "sampling_unset" : null;
  }

  protected take(increment: Increment): void {
    const delta = increment.delta * (this.#factor() ?? 0);
    this.#side.take(this.#rule.flow, { ...increment, delta });
    this.#onBytes?.(delta);
  }
}

export function bindBytes(
  series: Series,
  channels: SinkTables["channels"],
  tracks: CounterTracks,
  memory: ByteMemory,
  permit: Permit = OPEN_PERMIT,
): Sink | null {
  if (SAMPLING_FAMILIES.includes(series.name)) return memory.samplingSink(series);
  const rule = RULES.get(series.name);
  if (rule === undefined) return null;
  if (!isOfKind(rule, series)) return UNUSED_SINKS.unknown_metric;
  if (!isOwnNode(rule, series, permit)) return NOT_YOURS;
  for (const [label, value] of Object.entries(rule.where ?? {}))
    if (series.attributes[label] !== value) return IGNORED;
  const reading = readingOf(rule, series, permit);
  if ("live" in reading) return reading;
  const { reporter } = reading;
  const channel = openChannel(channels, keyOf(reading), reporter, permit);
  if ("unused" in channel) return channel;
  const parts = {
    reporter,
    rule,
    factor: memory.factorOf(rule, series),
    isSame: sameReading(rule, series, permit, reading),
    onBytes: isCompared(rule, reading) ? (bytes: number): void => memory.compare(reporter, bytes) : null,
  };
  return new ByteSink(channel, parts, series, tracks);
}

function isOfKind({ isGauge }: ByteFamily, { kind }: Series): boolean {
  return kind === "sum" || (isGauge === true && kind === "gauge");
}

/** The node of a row's end must be the sender's. */
function isOwnNode({ side }: ByteFamily, { resource }: Series, { authority }: Permit): boolean {
  const node = textOf(resource[RESOURCE_ATTRIBUTES.node]);
  return side.by !== "node" || node === null || authority.speaksForNode(node);
}

function sameReading(rule: ByteFamily, series: Series, permit: Permit, reading: Reading): () => boolean {
  if (!reading.source.mayChange && !reading.target.mayChange) return () => true;
  const key = keyOf(reading);
  return () => {
    const now = readingOf(rule, series, permit);
    return !("live" in now) && now.reporter === reading.reporter && isSameKey(keyOf(now), key);
  };
}

/** Returns true if the kernels at both ends should count the same bytes. */
function isCompared({ side }: ByteFamily, { source, target }: Reading): boolean {
  if (side.by !== "node" || side.labels !== null) return false;
  return source.node !== null && target.node !== null && source.node !== target.node;
}

/** Returns a sink instead if the series names no channel, or not yet. */
function readingOf(rule: ByteFamily, series: Series, permit: Permit): Reading | Sink {
  const ends = endsOf(rule, series, permit.facts);
  if ("live" in ends) return ends;
  const isAnswer = answerOf(rule, series);
  if (isAnswer === null) return UNUSED_SINKS.unattributed;
  const { source, target, outside } = ends;
  const reporter = reporterOf(rule, series, ends, isAnswer);
  if (reporter === null) return UNUSED_SINKS.unattributed;
  if (reporter === "elsewhere") return IGNORED;
  // External traffic has one channel per direction.
  const isSwapped = outside === null ? isAnswer : rule.outside === "received";
  return isSwapped ? { source: target, target: source, reporter } : { source, target, reporter };
}

interface Ends {
  readonly source: ResolvedEnd;
  readonly target: ResolvedEnd;
  readonly outside: ResolvedEnd | null;
}

/** A mirrored target is external. So is an unknown end if the row counts directions separately. */
function endsOf(rule: ByteFamily, series: Series, facts: Permit["facts"]): Ends | Sink {
  const source = endOf(rule.source, series, facts);
  const target = endOf(rule.target, series, facts);
  if (source === "repeated" || target === "repeated") return IGNORED;
  if (source === "later" || target === "later") return UNUSED_SINKS.unknown_pod;
  const isStrange = source === "stranger" || target === "stranger";
  if ((typeof source === "string" || typeof target === "string") && !isOneWay(rule))
    return UNUSED_SINKS[isStrange ? "unknown_pod" : "unattributed"];
  const unknown = outsideEnd(OUTSIDE_UNKNOWN, isStrange);
  const elsewhere = elsewhereOf(rule, series);
  const there = elsewhere ?? (typeof target === "string" ? outsideOf(rule.target, series, facts) : null);
  return joined(source, there ?? target, there, unknown);
}

function joined(
  source: ResolvedEnd | string,
  target: ResolvedEnd | string,
  outside: ResolvedEnd | null,
  unknown: ResolvedEnd,
): Ends | Sink {
  if (typeof source !== "string") {
    return typeof target === "string"
      ? { source, target: unknown, outside: unknown }
      : { source, target, outside };
  }
  return typeof target === "string" || outside !== null
    ? UNUSED_SINKS.unattributed
    : { source: unknown, target, outside: unknown };
}

/** Returns true if a row with an unknown end states the direction of its bytes. */
function isOneWay({ target, outside }: ByteFamily): boolean {
  return target.by !== "outside" && (target.by !== "address" || outside !== undefined);
}

/** The cluster of a mirrored target; null: this cluster. */
function elsewhereOf({ targetCluster }: ByteFamily, { attributes }: Series): ResolvedEnd | null {
  const cluster = targetCluster === undefined ? null : knownName(attributes[targetCluster]);
  return cluster === null ? null : outsideEnd(outsideNameOf(cluster));
}

/** Returns true if the row counts answers, which belong to the request's channel; null: it does not say. */
function answerOf({ answers }: ByteFamily, { attributes }: Series): boolean | null {
  if (answers === undefined) return false;
  const direction = attributes[answers.label];
  if (direction === answers.response) return true;
  return direction === answers.request ? false : null;
}

/** Null: unknown end. "elsewhere": neither end. Requests and answers must use the same end. */
function reporterOf(
  { side }: ByteFamily,
  { attributes, resource }: Series,
  { source, target }: Pick<Reading, "source" | "target">,
  isAnswer: boolean,
): ByteReporter | "elsewhere" | null {
  if (side.by === "one") return side.reporter;
  if (side.by === "label") return side.reporters[String(attributes[side.label] ?? "").toLowerCase()] ?? null;
  const node = textOf(resource[RESOURCE_ATTRIBUTES.node]);
  const sender = side.labels === null ? source.node : textOf(attributes[side.labels.source]);
  const receiver = side.labels === null ? target.node : textOf(attributes[side.labels.target]);
  if (node === null || (sender === null && receiver === null)) return null;
  const [asking, asked] = isAnswer ? [receiver, sender] : [sender, receiver];
  if (asking === node) return side.source;
  return asked === node ? side.target : "elsewhere";
}

function keyOf({ source, target }: Reading): ChannelKey {
  return channelBetween(source, target);
}

function isSameKey(a: ChannelKey, b: ChannelKey): boolean {
  return (
    a.source === b.source &&
    a.target === b.target &&
    a.sourceNamespace === b.sourceNamespace &&
    a.targetNamespace === b.targetNamespace
  );
}
