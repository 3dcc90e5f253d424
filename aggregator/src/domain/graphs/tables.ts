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

interface TableLimits extends Partial<BandwidthAges> {
  readonly maxLinks: number;
  readonly maxChannels: number;
  readonly maxPods: number;
  readonly meshNamespaces?: readonly string[];
}

/** Limit of Service, zone and namespace combinations of about 4 kB each. */
const MAX_DEMANDS = 20_000;

export class Tables {
  readonly shape: WindowShape;
  readonly linkOrder: LinkOrder;
  readonly links: LinkTable;
  readonly bandwidth: BandwidthTable;
  readonly channels: ChannelTable;
  readonly demand: ChannelTable;
  /** Namespaces whose proxies both ends of a channel trust. */
  readonly meshNamespaces: ReadonlySet<string>;
  readonly rememberedChannels: ChannelMemory;
  readonly pods: UsageTable;
  readonly nodes: UsageTable;
  readonly refusals: RecentRefusals;
  readonly baselines = new PairBaselines();
  readonly figures = new Figures();
  #latestMs = Number.NEGATIVE_INFINITY;

  /** @param costMethods methods that may give a cost, in order of preference */
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

  /** Clears the windows after the clock was set back, so that new samples do not merge with old ones. */
  #beginAgain(nowMs: number, isWanted: (link: LinkKey) => boolean): void {
    for (const link of this.links.sorted()) link.forget();
    this.links.expire(Number.POSITIVE_INFINITY, isWanted);
    for (const table of [this.bandwidth, this.channels, this.demand, this.pods, this.nodes])
      table.expire(Number.POSITIVE_INFINITY);
    this.rememberedChannels.setBack(nowMs);
  }
}
