import { METHODS, type Method } from "@isochrone/telemetry";
import { PairBaselines } from "../baselines/pair-baselines.ts";
import { BandwidthTable, DEFAULT_BANDWIDTH_AGES, type BandwidthAges } from "../bandwidth/bandwidth.ts";
import { ChannelMemory } from "./channel-memory.ts";
import { ChannelTable } from "../traffic/channels.ts";
import { Figures } from "./figures.ts";
import { linkOrder, type LinkOrder } from "../compare.ts";
import { LinkTable, type LinkKey } from "../links/links.ts";
import { PaneRows } from "../windows/pane-rows.ts";
import { RecentRefusals } from "./recent-refusals.ts";
import { UsageTable } from "../usage/usage.ts";
import type { WindowShape } from "../windows/window-shape.ts";

/** How much is kept at most, and bandwidth for how long. */
interface TableLimits extends Partial<BandwidthAges> {
  readonly maxLinks: number;
  readonly maxChannels: number;
  readonly maxPods: number;
  /** Namespaces whose proxies both ends of a channel believe. @default none */
  readonly meshNamespaces?: readonly string[];
}

/**
 * Services times calling zones and namespaces: with its latencies, each takes some 4 kB in a window of 30
 * panes.
 */
const MAX_DEMANDS = 20_000;

/** Everything that the windows hold: what ingest fills and the graphs are built from. */
export class Tables {
  readonly shape: WindowShape;
  /** How graphs list their links. */
  readonly linkOrder: LinkOrder;
  readonly links: LinkTable;
  readonly bandwidth: BandwidthTable;
  readonly channels: ChannelTable;
  readonly demand: ChannelTable;
  /** Namespaces whose proxies both ends of a channel believe. */
  readonly meshNamespaces: ReadonlySet<string>;
  readonly rememberedChannels: ChannelMemory;
  readonly pods: UsageTable;
  readonly nodes: UsageTable;
  readonly refusals: RecentRefusals;
  /** Baselines of round trips and losses of each pair of nodes. */
  readonly baselines = new PairBaselines();
  /** What graphs are shown of the numbers in these. */
  readonly figures = new Figures();
  #latestMs = Number.NEGATIVE_INFINITY;

  /**
   * @param costMethods methods that a link's cost may come from, best first: a pair's links are listed in
   * this order
   */
  constructor(shape: WindowShape, limits: TableLimits, costMethods: readonly Method[] = METHODS) {
    this.shape = shape;
    this.linkOrder = linkOrder(costMethods);
    const rows = new PaneRows(shape);
    this.links = new LinkTable(shape, limits.maxLinks, this.linkOrder, rows);
    this.bandwidth = new BandwidthTable({ ...DEFAULT_BANDWIDTH_AGES, ...limits }, limits.maxLinks);
    this.channels = new ChannelTable(shape, limits.maxChannels, rows, limits.meshNamespaces);
    this.meshNamespaces = new Set(limits.meshNamespaces);
    this.demand = new ChannelTable(shape, Math.min(MAX_DEMANDS, limits.maxChannels), rows);
    this.rememberedChannels = new ChannelMemory(limits.maxChannels, shape.windowMs);
    this.pods = new UsageTable(shape, limits.maxPods, rows);
    this.nodes = new UsageTable(shape, limits.maxPods, rows);
    this.refusals = new RecentRefusals(shape);
  }

  /** Frees what has left the window. */
  expire(nowMs: number, isWanted: (link: LinkKey) => boolean): void {
    const isSetBack = nowMs < this.#latestMs - this.shape.paneMs;
    this.#latestMs = nowMs;
    if (isSetBack) this.#beginAgain(nowMs, isWanted);
    this.links.expire(nowMs, isWanted);
    this.bandwidth.expire(nowMs);
    this.channels.expire(nowMs);
    this.demand.expire(nowMs);
    this.pods.expire(nowMs);
    this.nodes.expire(nowMs);
  }

  /** After the clock was set back, new samples would count beside those that windows hold of these times. */
  #beginAgain(nowMs: number, isWanted: (link: LinkKey) => boolean): void {
    for (const link of this.links.sorted()) link.forget();
    this.links.expire(Number.POSITIVE_INFINITY, isWanted);
    for (const table of [this.bandwidth, this.channels, this.demand, this.pods, this.nodes])
      table.expire(Number.POSITIVE_INFINITY);
    this.rememberedChannels.setBack(nowMs);
  }
}
