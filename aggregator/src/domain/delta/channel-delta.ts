import { spreadOverPanes, type Increment } from "@isochrone/telemetry";
import type { ChannelState } from "../traffic/channels.ts";
import type { ChannelKey, Flow, Reporter } from "../channel-key.ts";
import type { ChannelSideTarget, ChannelTarget } from "../ingest/sink-tables.ts";
import type { WindowShape } from "../windows/window-shape.ts";
import { CoverageDelta, type CoveredTime } from "./coverage-delta.ts";
import { PANE_ATTRIBUTES } from "./names.ts";
import { PaneParts, type PanePart } from "./pane-parts.ts";
import type { Touched } from "./touched.ts";
import { OnWire } from "./wire-attributes.ts";

/**
 * What was added to a channel as one reporter sees it. A flow without parts was reported, and nothing flowed.
 */
export interface SideContribution {
  readonly reporter: Reporter;
  /** Of its points, beside the flow. */
  readonly wire: OnWire;
  readonly cover: readonly CoveredTime[];
  readonly flows: readonly { readonly flow: Flow; readonly parts: readonly PanePart[] }[];
}

/** What was added to a channel. */
export interface ChannelContribution {
  readonly channel: ChannelDelta;
  readonly sides: readonly SideContribution[];
}

class FlowDelta extends PaneParts {
  readonly flow: Flow;

  constructor(flow: Flow) {
    super();
    this.flow = flow;
  }
}

const NO_FLOWS: FlowDelta[] = [];
const NO_SIDES: SideContribution[] = [];

class SideDelta extends OnWire implements ChannelSideTarget {
  readonly reporter: Reporter;
  readonly #shape: WindowShape;
  readonly #channel: ChannelDelta;
  #cover: CoverageDelta | null = null;
  #flows: FlowDelta[] = NO_FLOWS;

  constructor(channel: ChannelDelta, reporter: Reporter, shape: WindowShape) {
    super();
    this.#channel = channel;
    this.reporter = reporter;
    this.#shape = shape;
  }

  get isEmpty(): boolean {
    return this.#cover === null;
  }

  take(flow: Flow, increment: Increment): void {
    if (this.#cover === null) {
      this.#channel.touch();
      this.#cover = new CoverageDelta(this.#shape.windowMs);
    }
    this.#cover.extend(increment.fromMs, increment.toMs);
    const parts = this.#flow(flow);
    if (increment.delta > 0) spreadOverPanes(increment, this.#shape.paneMs, parts);
  }

  drain(): SideContribution {
    const contribution = {
      reporter: this.reporter,
      wire: this,
      cover: this.#cover?.times() ?? [],
      flows: this.#flows,
    };
    this.#flows = NO_FLOWS;
    this.#cover = null;
    return contribution;
  }

  protected override wireAttributes(): Record<string, string> {
    const { key } = this.#channel;
    return {
      [PANE_ATTRIBUTES.sourceNamespace]: key.sourceNamespace,
      [PANE_ATTRIBUTES.source]: key.source,
      [PANE_ATTRIBUTES.targetNamespace]: key.targetNamespace,
      [PANE_ATTRIBUTES.target]: key.target,
      [PANE_ATTRIBUTES.reporter]: this.reporter,
    };
  }

  #flow(flow: Flow): FlowDelta {
    for (const known of this.#flows) if (known.flow === flow) return known;
    const added = new FlowDelta(flow);
    if (this.#flows.length === 0) this.#flows = [added];
    else this.#flows.push(added);
    return added;
  }
}

const NO_SIDES_YET: SideDelta[] = [];

/** Collects what is added to one channel. */
export class ChannelDelta implements ChannelTarget {
  readonly key: ChannelKey;
  readonly #shape: WindowShape;
  readonly #touched: Touched<ChannelDelta>;
  /** One, mostly: a map would cost each of them 200 bytes. */
  #sides: SideDelta[] = NO_SIDES_YET;
  #isTouched = false;
  /** What this replica's own deltas are applied to, once it was looked up. */
  applied: ChannelState | null = null;
  live = true;
  idleSinceMs = Number.NEGATIVE_INFINITY;

  constructor(key: ChannelKey, shape: WindowShape, touched: Touched<ChannelDelta>) {
    this.key = key;
    this.#shape = shape;
    this.#touched = touched;
  }

  side(reporter: Reporter): ChannelSideTarget {
    for (const known of this.#sides) if (known.reporter === reporter) return known;
    const side = new SideDelta(this, reporter, this.#shape);
    if (this.#sides.length === 0) this.#sides = [side];
    else this.#sides.push(side);
    return side;
  }

  /** What was added since the last time. */
  drain(): ChannelContribution {
    this.#isTouched = false;
    return { channel: this, sides: drained(this.#sides) };
  }

  /** Something is added to it, the first thing since the last drain perhaps. */
  touch(): void {
    if (this.#isTouched) return;
    this.#isTouched = true;
    this.#touched.add(this);
  }
}

/** Mostly one of one. */
function drained(sides: readonly SideDelta[]): SideContribution[] {
  let all: SideContribution[] = NO_SIDES;
  for (const side of sides) {
    if (side.isEmpty) continue;
    if (all.length === 0) all = [side.drain()];
    else all.push(side.drain());
  }
  return all;
}
