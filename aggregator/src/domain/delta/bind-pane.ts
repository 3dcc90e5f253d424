import type { Attributes, Series } from "@isochrone/telemetry";
import { LevelSink } from "../ingest/bind-usage.ts";
import type { ChannelSide, ChannelState, ChannelTable } from "../traffic/channels.ts";
import { CHANNEL_REPORTERS, FLOW_REPORTER, FLOWS, type Flow } from "../channel-key.ts";
import type { PointTime } from "../point-time.ts";
import { MEMORY_SOURCES, USAGE_COUNTERS, type MemoryOwner } from "../ingest/sink-tables.ts";
import { UNUSED_SINKS, type Sink } from "../ingest/sink.ts";
import type { Tables } from "../graphs/tables.ts";
import type { CounterRate, LevelMean, UsageState } from "../usage/usage.ts";
import type { WindowShape } from "../windows/window-shape.ts";
import { lastPaneOf } from "./coverage-delta.ts";
import { PANE_ATTRIBUTES, PANE_METRICS } from "./names.ts";

class ChannelPartSink implements Sink {
  readonly unused = null;
  readonly #channel: ChannelState;
  readonly #side: ChannelSide;
  readonly #flow: Flow;
  readonly #shape: WindowShape;

  constructor(channel: ChannelState, side: ChannelSide, flow: Flow, shape: WindowShape) {
    this.#channel = channel;
    this.#side = side;
    this.#flow = flow;
    this.#shape = shape;
  }

  get live(): boolean {
    return this.#channel.live;
  }

  number(point: PointTime, value: number): void {
    this.#side.addPart(this.#flow, placeOf(point, this.#side, this.#shape), value);
  }
}

class CoverSink implements Sink {
  readonly unused = null;
  readonly #owner: ChannelState | UsageState;
  readonly #counter: ChannelSide | CounterRate;
  readonly #windowMs: number;

  constructor(owner: ChannelState | UsageState, counter: ChannelSide | CounterRate, windowMs: number) {
    this.#owner = owner;
    this.#counter = counter;
    this.#windowMs = windowMs;
  }

  get live(): boolean {
    return this.#owner.live;
  }

  number({ startMs, eventMs }: PointTime): void {
    this.#counter.coverage.extend(startMs, eventMs, this.#windowMs);
  }
}

class UsagePartSink implements Sink {
  readonly unused = null;
  readonly #owner: UsageState;
  readonly #counter: CounterRate;
  readonly #shape: WindowShape;

  constructor(owner: UsageState, counter: CounterRate, shape: WindowShape) {
    this.#owner = owner;
    this.#counter = counter;
    this.#shape = shape;
  }

  get live(): boolean {
    return this.#owner.live;
  }

  number(point: PointTime, value: number): void {
    this.#counter.addPart(placeOf(point, this.#counter, this.#shape), value);
  }
}

class CpuLevelSink implements Sink {
  readonly unused = null;
  readonly #owner: UsageState;
  readonly #level: LevelMean;

  constructor(owner: UsageState, level: LevelMean) {
    this.#owner = owner;
    this.#level = level;
  }

  get live(): boolean {
    return this.#owner.live;
  }

  histogram({ eventMs }: PointTime, count: number, sum: number): void {
    this.#level.takeMany(eventMs, sum, count);
  }
}

/**
 * The pane that a part goes to. One with a start tells the time that its counter speaks for, too, and belongs
 * to the end of it.
 */
function placeOf(
  { startMs, eventMs }: PointTime,
  { coverage }: ChannelSide | CounterRate,
  shape: WindowShape,
): number {
  if (startMs === 0) return eventMs;
  coverage.extend(startMs, eventMs, shape.windowMs);
  return lastPaneOf({ fromMs: startMs, toMs: eventMs }, shape);
}

/** What a metric that only deltas have flows into; null when it is none. */
export function bindPane(series: Series, tables: Tables): Sink | null {
  switch (series.name) {
    case PANE_METRICS.channelPart:
    case PANE_METRICS.channelCover:
      return bindChannel(series, tables.channels, tables.shape);
    case PANE_METRICS.demandPart:
    case PANE_METRICS.demandCover:
      return bindChannel(series, tables.demand, tables.shape);
    case PANE_METRICS.usagePart:
    case PANE_METRICS.usageCover:
    case PANE_METRICS.cpuLevel:
    case PANE_METRICS.memory:
      return bindUsagePane(series, tables);
    default:
      return null;
  }
}

function bindChannel({ name, attributes }: Series, channels: ChannelTable, shape: WindowShape): Sink {
  const reporter = [...CHANNEL_REPORTERS, FLOW_REPORTER].find(
    (known) => known === attributes[PANE_ATTRIBUTES.reporter],
  );
  if (reporter === undefined) return UNUSED_SINKS.unattributed;
  const channel = channels.open({
    sourceNamespace: text(attributes, PANE_ATTRIBUTES.sourceNamespace),
    source: text(attributes, PANE_ATTRIBUTES.source),
    targetNamespace: text(attributes, PANE_ATTRIBUTES.targetNamespace),
    target: text(attributes, PANE_ATTRIBUTES.target),
  });
  if (channel === null) return UNUSED_SINKS.too_many_channels;
  const side = channel.side(reporter);
  if (name === PANE_METRICS.channelCover || name === PANE_METRICS.demandCover)
    return new CoverSink(channel, side, shape.windowMs);
  const flow = FLOWS.find((known) => known === attributes[PANE_ATTRIBUTES.flow]);
  return flow === undefined ? UNUSED_SINKS.unattributed : new ChannelPartSink(channel, side, flow, shape);
}

function bindUsagePane({ name, attributes }: Series, { pods, nodes, shape }: Tables): Sink {
  const table = attributes[PANE_ATTRIBUTES.scope] === "node" ? nodes : pods;
  const owner = table.open(text(attributes, PANE_ATTRIBUTES.name));
  if (owner === null) return UNUSED_SINKS.too_many_pods;
  if (name === PANE_METRICS.cpuLevel) return new CpuLevelSink(owner, owner.cpuLevel(containerOf(attributes)));
  if (name === PANE_METRICS.memory) {
    const memory = memoryOwner(attributes);
    return memory === null ? UNUSED_SINKS.unattributed : new LevelSink(owner, owner.memoryLevel(memory));
  }
  const known = USAGE_COUNTERS.find((counter) => counter === attributes[PANE_ATTRIBUTES.counter]);
  if (known === undefined) return UNUSED_SINKS.unattributed;
  const counter = owner.counter(known);
  return name === PANE_METRICS.usageCover
    ? new CoverSink(owner, counter, shape.windowMs)
    : new UsagePartSink(owner, counter, shape);
}

function memoryOwner(attributes: Attributes): MemoryOwner | null {
  const source = MEMORY_SOURCES.find((known) => known === attributes[PANE_ATTRIBUTES.usageSource]);
  if (source === undefined) return null;
  return { source, container: containerOf(attributes) };
}

function containerOf(attributes: Attributes): string | null {
  const container = attributes[PANE_ATTRIBUTES.container];
  return container === undefined ? null : String(container);
}

function text(attributes: Attributes, name: string): string {
  return String(attributes[name] ?? "");
}
