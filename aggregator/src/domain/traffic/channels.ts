import { spreadOverPanes, type Increment } from "@isochrone/telemetry";
import { bindsOf, type ChannelEnd } from "./channel-ends.ts";
import { legsThroughWaypoints } from "./channels-legs.ts";
import { Coverage } from "../windows/coverage.ts";
import { PaneRows } from "../windows/pane-rows.ts";
import { BOUNDLESS, type Room } from "../speakers/permit.ts";
import { SumPanes } from "../windows/sum-panes.ts";
import { panesOf, windowStartMs, type WindowName, type WindowShape } from "../windows/window-shape.ts";
import {
  bytesOf,
  CHANNEL_REPORTERS,
  FLOW_REPORTER,
  FLOWS,
  type ChannelKey,
  type Flow,
  type Reporter,
} from "../channel-key.ts";

interface SideRates {
  readonly reporter: Reporter;
  readonly requestsPerSecond: number | null;
  readonly bytesPerSecond: number | null;
  readonly errorRatio: number | null;
  readonly eventsPerSecond: number | null;
  readonly newestMs: number;
}

/** Rates of a channel in a window. `reporter` counts its bytes, if any reporter does. */
export interface ChannelRates extends SideRates {
  readonly requestsReporter: Reporter;
}

interface KnownBy {
  readonly bytes: SideRates | null;
  readonly requests: SideRates | null;
  readonly events: SideRates | null;
  readonly first: SideRates;
}

/** Kernel counters of the channel's flows at the sending nodes, in a window. */
export interface FlowRates {
  readonly allowedBitsPerSecond: number;
  readonly achievedBitsPerSecond: number;
  readonly droppedPacketsPerSecond: number;
  readonly newestMs: number;
}

class ChannelSide {
  readonly #shape: WindowShape;
  readonly #rows: PaneRows;
  readonly coverage = new Coverage();
  readonly #sums: Partial<Record<Flow, SumPanes>> = {};

  constructor(shape: WindowShape, rows: PaneRows) {
    this.#shape = shape;
    this.#rows = rows;
  }

  take(flow: Flow, increment: Increment): void {
    this.coverage.extend(increment.fromMs, increment.toMs, this.#shape.windowMs);
    const sums = this.#sumsOf(flow);
    if (increment.delta > 0) spreadOverPanes(increment, this.#shape.paneMs, sums);
  }

  /** Returns null if the flow was never reported. */
  total(flow: Flow, nowMs: number, panes: number, beforeMs?: number): number | null {
    return this.#sums[flow]?.total(nowMs, panes, beforeMs) ?? null;
  }

  release(): void {
    for (const flow of FLOWS) this.#sums[flow]?.release();
  }

  #sumsOf(flow: Flow): SumPanes {
    return (this.#sums[flow] ??= new SumPanes(this.#rows));
  }
}

interface Neighbourhood {
  /** Namespaces whose proxies both ends of a channel trust. */
  readonly meshNamespaces: ReadonlySet<string>;
  /** Returns true if the channel is a hop of a channel that a waypoint reports. */
  isLeg(channel: ChannelState, nowMs: number, window: WindowName): boolean;
  reverseOf(key: ChannelKey): ChannelState | undefined;
  /** Call when a waypoint reports the channel. */
  sawWaypoint(channel: ChannelState): void;
}

const BITS_PER_BYTE = 8;

const ALONE: Neighbourhood = {
  meshNamespaces: new Set(),
  isLeg: () => false,
  reverseOf: () => undefined,
  sawWaypoint: () => undefined,
};

export class ChannelState {
  readonly key: ChannelKey;
  readonly #shape: WindowShape;
  readonly #rows: PaneRows;
  readonly #sides = new Map<Reporter, ChannelSide>();
  readonly #others: Neighbourhood;
  live = true;

  constructor(
    key: ChannelKey,
    shape: WindowShape,
    rows: PaneRows = new PaneRows(shape),
    others: Neighbourhood = ALONE,
  ) {
    this.key = key;
    this.#shape = shape;
    this.#rows = rows;
    this.#others = others;
  }

  side(reporter: Reporter): ChannelSide {
    let side = this.#sides.get(reporter);
    if (side !== undefined) return side;
    this.#sides.set(reporter, (side = new ChannelSide(this.#shape, this.#rows)));
    if (reporter === "waypoint") this.#others.sawWaypoint(this);
    return side;
  }

  covers(reporter: Reporter, nowMs: number, window: WindowName): boolean {
    return this.#seconds(this.#sides.get(reporter), nowMs, panesOf(this.#shape, window)) > 0;
  }

  /**
   * Rates with each quantity from the best reporter that has it. Returns null if no reporter has data in the
   * window, and for hops of a waypoint.
   * @param end uses only reporters that this end trusts; absent: all
   */
  rates(nowMs: number, window: WindowName, end?: ChannelEnd): ChannelRates | null {
    const panes = panesOf(this.#shape, window);
    const known = this.#known(nowMs, panes, end);
    if (known === null || this.#others.isLeg(this, nowMs, window)) return null;
    const { bytes, requests, events } = known;
    const isCounted = bytes !== null && this.#isCountedByReverse(bytes.reporter, nowMs, panes, end);
    if (isCounted && requests === null && events === null) return null;
    return combined({ ...known, bytes: isCounted ? null : bytes });
  }

  /** Reporters that count, by quantity; null: none has data in the window. */
  #known(nowMs: number, panes: number, end: ChannelEnd | undefined): KnownBy | null {
    let known: KnownBy | null = null;
    for (const reporter of CHANNEL_REPORTERS) {
      if (!this.#speaks(reporter, nowMs, panes, end) || isOnTheWay(known, reporter)) continue;
      known = completed(known, this.#ratesOf(reporter, nowMs, panes));
      if (known.bytes !== null && known.requests !== null) break;
    }
    return known;
  }

  #speaks(reporter: Reporter, nowMs: number, panes: number, end: ChannelEnd | undefined): boolean {
    return (
      this.#seconds(this.#sides.get(reporter), nowMs, panes) > 0 &&
      (end === undefined || this.binds(reporter, end))
    );
  }

  #ratesOf(reporter: Reporter, nowMs: number, panes: number): SideRates {
    const side = this.side(reporter);
    return ratesOf(reporter, side, side.coverage.settled(this.#shape, nowMs, panes), nowMs, panes);
  }

  /** Returns true if answer bytes are already included in the reverse channel. */
  #isCountedByReverse(
    reporter: Reporter,
    nowMs: number,
    panes: number,
    end: ChannelEnd | undefined,
  ): boolean {
    if (bytesOf(reporter) !== "one_way") return false;
    const reverse = this.#others.reverseOf(this.key);
    if (reverse === undefined || reverse === this) return false;
    const other = reverse.#known(nowMs, panes, end === undefined ? undefined : farEnd(end))?.bytes ?? null;
    return other !== null && bytesOf(other.reporter) === "both_ways";
  }

  flowRates(nowMs: number, window: WindowName): FlowRates | null {
    const panes = panesOf(this.#shape, window);
    const side = this.#sides.get(FLOW_REPORTER);
    if (side === undefined || this.#seconds(side, nowMs, panes) <= 0) return null;
    const { seconds, beforeMs } = side.coverage.settled(this.#shape, nowMs, panes);
    const rate = (flow: Flow): number => (side.total(flow, nowMs, panes, beforeMs) ?? 0) / seconds;
    return {
      allowedBitsPerSecond: rate("allowedBytes") * BITS_PER_BYTE,
      achievedBitsPerSecond: rate("bytes") * BITS_PER_BYTE,
      droppedPacketsPerSecond: rate("droppedPackets"),
      newestMs: side.coverage.newestMs,
    };
  }

  binds(reporter: Reporter, end: ChannelEnd): boolean {
    const binds = bindsOf(reporter, this.key, this.#others.meshNamespaces);
    return binds === "both" || binds === end;
  }

  #seconds(side: ChannelSide | undefined, nowMs: number, panes: number): number {
    return side?.coverage.seconds(this.#shape, nowMs, panes) ?? 0;
  }

  get newestMs(): number {
    return Math.max(...[...this.#sides.values()].map((side) => side.coverage.newestMs));
  }

  release(): void {
    this.live = false;
    for (const side of this.#sides.values()) side.release();
  }
}

/** Proxies report hops to and from the waypoint, which reports the whole channel. */
function isOnTheWay(known: KnownBy | null, reporter: Reporter): boolean {
  return known?.first.reporter === "waypoint" && (reporter === "source" || reporter === "destination");
}

/** Adds quantities that better reporters lack. */
function completed(known: KnownBy | null, rates: SideRates): KnownBy {
  return {
    bytes: known?.bytes ?? (rates.bytesPerSecond === null ? null : rates),
    requests: known?.requests ?? (rates.requestsPerSecond === null ? null : rates),
    events: known?.events ?? (rates.eventsPerSecond === null ? null : rates),
    first: known?.first ?? rates,
  };
}

const UNKNOWN = { bytesPerSecond: null, requestsPerSecond: null, errorRatio: null, eventsPerSecond: null };

function combined({ bytes, requests, events, first }: KnownBy): ChannelRates {
  const { reporter } = bytes ?? requests ?? events ?? first;
  const { bytesPerSecond } = bytes ?? UNKNOWN;
  const { requestsPerSecond, errorRatio } = requests ?? UNKNOWN;
  const { eventsPerSecond } = events ?? UNKNOWN;
  const requestsReporter = requests?.reporter ?? reporter;
  const newestMs = Math.max(...[bytes, requests, events, first].flatMap((one) => one?.newestMs ?? []));
  const rates = { bytesPerSecond, requestsPerSecond, errorRatio, eventsPerSecond };
  return { ...rates, reporter, requestsReporter, newestMs };
}

function ratesOf(
  reporter: Reporter,
  side: ChannelSide,
  { seconds, beforeMs }: ReturnType<Coverage["settled"]>,
  nowMs: number,
  panes: number,
): SideRates {
  const total = (flow: Flow): number | null => side.total(flow, nowMs, panes, beforeMs);
  const requests = total("requests");
  const bytes = total("bytes");
  const tcpBytes = total("tcpBytes");
  const errors = total("errors") ?? 0;
  const events = total("events");
  return {
    reporter,
    requestsPerSecond: requests === null ? null : requests / seconds,
    bytesPerSecond: bytes === null && tcpBytes === null ? null : ((bytes ?? 0) + (tcpBytes ?? 0)) / seconds,
    errorRatio: requests === null || requests === 0 ? null : Math.min(1, errors / requests),
    eventsPerSecond: events === null ? null : events / seconds,
    newestMs: side.coverage.newestMs,
  };
}

export class ChannelTable {
  readonly #shape: WindowShape;
  readonly #rows: PaneRows;
  readonly #maxChannels: number;
  readonly #channels = new Map<string, ChannelState>();
  readonly #throughWaypoints = new Set<ChannelState>();
  readonly #neighbourhood: Neighbourhood;
  /** Cache of waypoint hops, because a graph reads all channels at one time. */
  #legs: ReadonlySet<ChannelState> = new Set();
  #legsAtMs = Number.NaN;
  #legsWindow: WindowName = "full";
  #legsAmong = 0;

  /** @param meshNamespaces namespaces whose proxies both ends of a channel trust */
  constructor(
    shape: WindowShape,
    maxChannels: number,
    rows: PaneRows = new PaneRows(shape),
    meshNamespaces: readonly string[] = [],
  ) {
    this.#shape = shape;
    this.#rows = rows;
    this.#maxChannels = maxChannels;
    this.#neighbourhood = {
      meshNamespaces: new Set(meshNamespaces),
      isLeg: (channel, nowMs, window) =>
        this.#throughWaypoints.size > 0 && this.#legsAt(nowMs, window).has(channel),
      reverseOf: ({ sourceNamespace, source, targetNamespace, target }) =>
        this.#channels.get(idOf(targetNamespace, target, sourceNamespace, source)),
      sawWaypoint: (channel) => this.#throughWaypoints.add(channel),
    };
  }

  get size(): number {
    return this.#channels.size;
  }

  open(key: ChannelKey, room: Room = BOUNDLESS): ChannelState | null {
    const id = idOf(key.sourceNamespace, key.source, key.targetNamespace, key.target);
    const known = this.#channels.get(id);
    if (known !== undefined) return known;
    if (this.#channels.size >= this.#maxChannels || room.left <= 0) return null;
    room.left--;
    const channel = new ChannelState(key, this.#shape, this.#rows, this.#neighbourhood);
    this.#channels.set(id, channel);
    return channel;
  }

  values(): IterableIterator<ChannelState> {
    return this.#channels.values();
  }

  expire(nowMs: number): void {
    const startMs = windowStartMs(this.#shape, nowMs);
    for (const [id, channel] of this.#channels) {
      const { newestMs } = channel;
      if (newestMs >= startMs || newestMs === Number.NEGATIVE_INFINITY) continue;
      channel.release();
      this.#channels.delete(id);
      this.#throughWaypoints.delete(channel);
    }
  }

  #legsAt(nowMs: number, window: WindowName): ReadonlySet<ChannelState> {
    const { size } = this.#channels;
    if (this.#legsAtMs === nowMs && this.#legsWindow === window && this.#legsAmong === size)
      return this.#legs;
    this.#legsAtMs = nowMs;
    this.#legsWindow = window;
    this.#legsAmong = size;
    const { meshNamespaces } = this.#neighbourhood;
    const channels = [...this.#channels.values()];
    this.#legs = legsThroughWaypoints(this.#throughWaypoints, channels, nowMs, window, meshNamespaces);
    return this.#legs;
  }
}

function farEnd(end: ChannelEnd): ChannelEnd {
  return end === "source" ? "target" : "source";
}

function idOf(sourceNamespace: string, source: string, targetNamespace: string, target: string): string {
  return `${sourceNamespace}/${source}\n${targetNamespace}/${target}`;
}
