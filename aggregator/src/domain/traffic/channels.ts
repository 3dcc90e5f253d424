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

/** Rates of a channel in a window, by one reporter. */
interface SideRates {
  readonly reporter: Reporter;
  /** Null without any request metric. */
  readonly requestsPerSecond: number | null;
  /** Null without any byte metric. */
  readonly bytesPerSecond: number | null;
  /** Null without requests. */
  readonly errorRatio: number | null;
  /** Null where nobody reports sightings. */
  readonly eventsPerSecond: number | null;
  readonly newestMs: number;
}

/** Rates of a channel in a window: `reporter` counts its bytes, if anybody does. */
export interface ChannelRates extends SideRates {
  /** Who counts requests and errors. */
  readonly requestsReporter: Reporter;
}

/** The best reporter of each quantity, and the best of all. */
interface KnownBy {
  readonly bytes: SideRates | null;
  readonly requests: SideRates | null;
  readonly events: SideRates | null;
  readonly first: SideRates;
}

/** What the kernel of the sending nodes did with the flows of a channel in a window. */
export interface FlowRates {
  readonly allowedBitsPerSecond: number;
  readonly achievedBitsPerSecond: number;
  readonly droppedPacketsPerSecond: number;
  readonly newestMs: number;
}

/** What one end's reporters counted. */
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

  /** Null when the flow was never reported. */
  total(flow: Flow, nowMs: number, panes: number, beforeMs?: number): number | null {
    return this.#sums[flow]?.total(nowMs, panes, beforeMs) ?? null;
  }

  /** Gives its memory back. */
  release(): void {
    for (const flow of FLOWS) this.#sums[flow]?.release();
  }

  #sumsOf(flow: Flow): SumPanes {
    return (this.#sums[flow] ??= new SumPanes(this.#rows));
  }
}

/** What a channel asks and tells the table that it is in. */
interface Neighbourhood {
  /** Namespaces whose proxies both ends of a channel believe. */
  readonly meshNamespaces: ReadonlySet<string>;
  /** Whether the channel is a part of others that a waypoint reports whole. */
  isLeg(channel: ChannelState, nowMs: number, window: WindowName): boolean;
  /** The channel the other way round. */
  reverseOf(key: ChannelKey): ChannelState | undefined;
  /** A waypoint reports the channel. */
  sawWaypoint(channel: ChannelState): void;
}

const BITS_PER_BYTE = 8;

const ALONE: Neighbourhood = {
  meshNamespaces: new Set(),
  isLeg: () => false,
  reverseOf: () => undefined,
  sawWaypoint: () => undefined,
};

/** One ordered pair of workloads. */
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

  /** True when the reporter has spoken of the window. */
  covers(reporter: Reporter, nowMs: number, window: WindowName): boolean {
    return this.#seconds(this.#sides.get(reporter), nowMs, panesOf(this.#shape, window)) > 0;
  }

  /**
   * Each quantity by the best reporter that knows it. Null when no reporter covers any of the window, and for
   * the way to and from a waypoint, which the whole channel stands for.
   * @param end whose reporters are asked: those that this end believes; without one all of them
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

  /** Reporters whose figures count, by quantity; null: nobody speaks of the window. */
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

  /** Bytes of answers, where whoever counts the channel of the questions has counted them with those. */
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

  /** Null when no network manager speaks of the window. */
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

  /** Whether the figures of a reporter count for the pods at that end. */
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

  /** It is forgotten: its memory is given back. */
  release(): void {
    this.live = false;
    for (const side of this.#sides.values()) side.release();
  }
}

/** Proxies at the ends count their ways to and from the waypoint, which counts the whole channel. */
function isOnTheWay(known: KnownBy | null, reporter: Reporter): boolean {
  return known?.first.reporter === "waypoint" && (reporter === "source" || reporter === "destination");
}

/** Adds what a reporter knows beyond the better ones. */
function completed(known: KnownBy | null, rates: SideRates): KnownBy {
  return {
    bytes: known?.bytes ?? (rates.bytesPerSecond === null ? null : rates),
    requests: known?.requests ?? (rates.requestsPerSecond === null ? null : rates),
    events: known?.events ?? (rates.eventsPerSecond === null ? null : rates),
    first: known?.first ?? rates,
  };
}

/** Rates of a quantity that no reporter knows. */
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

/** All channels that were seen within the window. */
export class ChannelTable {
  readonly #shape: WindowShape;
  readonly #rows: PaneRows;
  readonly #maxChannels: number;
  readonly #channels = new Map<string, ChannelState>();
  readonly #throughWaypoints = new Set<ChannelState>();
  readonly #neighbourhood: Neighbourhood;
  /** A graph asks for all channels at one time: the legs are worked out once. */
  #legs: ReadonlySet<ChannelState> = new Set();
  #legsAtMs = Number.NaN;
  #legsWindow: WindowName = "full";
  #legsAmong = 0;

  /** @param meshNamespaces namespaces whose proxies both ends of a channel believe */
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

  /** Null when there are too many. */
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

  /** Forgets channels that a whole window said nothing of. */
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
