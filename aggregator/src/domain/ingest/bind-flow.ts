import {
  FLOW_METRICS,
  RESOURCE_ATTRIBUTES,
  type CounterTracks,
  type Increment,
  type Series,
} from "@isochrone/telemetry";
import { FLOW_REPORTER, type ChannelKey, type Flow } from "../channel-key.ts";
import type { PointTime } from "../point-time.ts";
import { OPEN_PERMIT, type Permit } from "../speakers/permit.ts";
import { mapOf, textOf, type Labels } from "../text.ts";
import { IncrementSink } from "./increments.ts";
import type { ChannelSideTarget, ChannelTarget, SinkTables } from "./sink-tables.ts";
import { NOT_YOURS, UNUSED_SINKS, type Sink } from "./sink.ts";

export interface FlowFacts {
  /** "unknown": the node has no plan, or not this flow. "forwarded": the node is a relay. */
  channelOf(node: string, flow: string): ChannelKey | "forwarded" | "unknown";
}

export const NO_FLOWS: FlowFacts = { channelOf: () => "unknown" };

const FLOW_OF = mapOf<Flow>({
  [FLOW_METRICS.allowed]: "allowedBytes",
  [FLOW_METRICS.sent]: "bytes",
  [FLOW_METRICS.dropped]: "droppedPackets",
});

/** Each hop counts the same bytes as the sender. */
const IGNORED: Sink = { live: true, unused: null };

const BITS_PER_BYTE = 8;

class CountSink extends IncrementSink {
  readonly #channel: ChannelTarget;
  readonly #side: ChannelSideTarget;
  readonly #flow: Flow;

  constructor(channel: ChannelTarget, flow: Flow, series: Series, tracks: CounterTracks) {
    super(series, tracks);
    this.#channel = channel;
    this.#side = channel.side(FLOW_REPORTER);
    this.#flow = flow;
  }

  get live(): boolean {
    return this.#channel.live;
  }

  protected take(increment: Increment): void {
    this.#side.take(this.#flow, increment);
  }
}

/** Integrates a rate that held since the point's start. */
class AllowedSink implements Sink {
  readonly unused = null;
  readonly #channel: ChannelTarget;
  readonly #side: ChannelSideTarget;

  constructor(channel: ChannelTarget) {
    this.#channel = channel;
    this.#side = channel.side(FLOW_REPORTER);
  }

  get live(): boolean {
    return this.#channel.live;
  }

  number({ startMs, timeMs, eventMs, offsetMs }: PointTime, bitsPerSecond: number): void {
    if (!(startMs > 0 && startMs < timeMs && bitsPerSecond >= 0)) return;
    const delta = ((timeMs - startMs) / 1_000) * (bitsPerSecond / BITS_PER_BYTE);
    this.#side.take("allowedBytes", { fromMs: startMs + offsetMs, toMs: eventMs, delta, reset: false });
  }
}

export function bindFlow(
  series: Series,
  channels: SinkTables["channels"],
  tracks: CounterTracks,
  facts: FlowFacts,
  permit: Permit = OPEN_PERMIT,
): Sink | null {
  const counted = FLOW_OF.get(series.name);
  if (counted === undefined) return null;
  const node = textOf(series.resource[RESOURCE_ATTRIBUTES.node]);
  const { flow }: Labels<"flow"> = series.attributes;
  if (node === null || typeof flow !== "string") return UNUSED_SINKS.unattributed;
  if (!permit.authority.speaksForNode(node)) return NOT_YOURS;
  const key = facts.channelOf(node, flow);
  // Plans are polled, so the flow may be newer than the plan.
  if (key === "unknown") return UNUSED_SINKS.unknown_node;
  if (key === "forwarded") return IGNORED;
  const channel = channels.open(key, permit.channelRoom(key.sourceNamespace));
  if (channel === null) return UNUSED_SINKS.too_many_channels;
  if (counted !== "allowedBytes") return new CountSink(channel, counted, series, tracks);
  return new AllowedSink(channel);
}
