import { isPossibleRate, type BandwidthAges } from "../bandwidth/bandwidth.ts";
import type { ChannelKey } from "../channel-key.ts";
import type { LinkKey } from "../links/links.ts";
import type { SinkTables } from "../ingest/sink-tables.ts";
import { BOUNDLESS, type Room } from "../speakers/permit.ts";
import { demandLimit, type TableLimits } from "../graphs/tables.ts";
import type { WindowShape } from "../windows/window-shape.ts";
import { ChannelDelta, type ChannelContribution } from "./channel-delta.ts";
import { LinkDelta, type LinkContribution } from "./link-delta.ts";
import { PairDelta, type PairContribution } from "./pair-delta.ts";
import { Touched } from "./touched.ts";
import { UsageDelta, type UsageContribution } from "./usage-delta.ts";

const FORGET_WINDOWS = 2;

/** What a stretch of an input partition adds to the windows. Nothing of it changes any more. */
export interface Contributions {
  readonly links: readonly LinkContribution[];
  readonly pairs: readonly PairContribution[];
  readonly channels: readonly ChannelContribution[];
  readonly demand: readonly ChannelContribution[];
  readonly pods: readonly UsageContribution[];
  readonly nodes: readonly UsageContribution[];
}

interface Entity<C> {
  live: boolean;
  /** When it was last drained. */
  idleSinceMs: number;
  drain(): C;
}

/** Entities of one kind by name. They outlive a drain, because the series that feed them hold on to them. */
class EntityTable<C, E extends Entity<C>> {
  readonly #maxEntities: number;
  readonly #entities = new Map<string, E>();
  readonly touched = new Touched<E>();

  constructor(maxEntities: number) {
    this.#maxEntities = maxEntities;
  }

  open(id: string, room: Room = BOUNDLESS, create: (touched: Touched<E>) => E): E | null {
    const known = this.#entities.get(id);
    if (known !== undefined) return known;
    if (this.#entities.size >= this.#maxEntities || room.left <= 0) return null;
    room.left--;
    const entity = create(this.touched);
    this.#entities.set(id, entity);
    return entity;
  }

  drain(nowMs: number): C[] {
    return this.touched.drain().map((entity) => {
      entity.idleSinceMs = nowMs;
      return entity.drain();
    });
  }

  /** Right after a drain: forgets what was idle since `beforeMs`. */
  forgetIdle(beforeMs: number, nowMs: number): void {
    for (const [id, entity] of this.#entities) {
      // A new one gets the time to speak.
      if (entity.idleSinceMs === Number.NEGATIVE_INFINITY) entity.idleSinceMs = nowMs;
      // The clock was set back.
      if (entity.idleSinceMs > nowMs) entity.idleSinceMs = nowMs;
      if (entity.idleSinceMs >= beforeMs) continue;
      entity.live = false;
      this.#entities.delete(id);
    }
  }
}

/**
 * Takes what ingest draws from an input partition, and hands it out as what everybody's windows are to be
 * added.
 */
export class DeltaTables implements SinkTables {
  readonly shape: WindowShape;
  readonly links: SinkTables["links"];
  readonly bandwidth: SinkTables["bandwidth"];
  readonly channels: SinkTables["channels"];
  readonly demand: SinkTables["demand"];
  readonly pods: SinkTables["pods"];
  readonly nodes: SinkTables["nodes"];
  readonly #links: EntityTable<LinkContribution, LinkDelta>;
  readonly #pairs: EntityTable<PairContribution, PairDelta>;
  readonly #channels: EntityTable<ChannelContribution, ChannelDelta>;
  readonly #demand: EntityTable<ChannelContribution, ChannelDelta>;
  readonly #pods: EntityTable<UsageContribution, UsageDelta>;
  readonly #nodes: EntityTable<UsageContribution, UsageDelta>;
  #forgottenMs = Number.NEGATIVE_INFINITY;

  /** @param onRefusedRate hears of each bandwidth test whose rate can't be */
  constructor(
    shape: WindowShape,
    limits: TableLimits,
    capacityPaneMs: BandwidthAges["bandwidthCapacityWindowMs"],
    onRefusedRate: () => void = () => undefined,
  ) {
    this.shape = shape;
    const links = (this.#links = new EntityTable(limits.maxLinks));
    const pairs = (this.#pairs = new EntityTable(limits.maxLinks));
    const channels = (this.#channels = new EntityTable(limits.maxChannels));
    const demand = (this.#demand = new EntityTable(demandLimit(limits)));
    const pods = (this.#pods = new EntityTable(limits.maxPods));
    const nodes = (this.#nodes = new EntityTable(limits.maxPods));
    this.links = {
      open: (key, room) =>
        links.open(linkId(key), room, (touched) => new LinkDelta(key, shape.paneMs, touched)),
    };
    this.bandwidth = {
      open: (source, target, room) =>
        pairs.open(
          `${source}\n${target}`,
          room,
          (touched) => new PairDelta(source, target, capacityPaneMs, touched),
        ),
      accepts: (bitsPerSecond) => {
        if (isPossibleRate(bitsPerSecond)) return true;
        onRefusedRate();
        return false;
      },
    };
    this.channels = {
      open: (key, room) =>
        channels.open(channelId(key), room, (touched) => new ChannelDelta(key, shape, touched)),
    };
    this.demand = {
      open: (key, room) =>
        demand.open(channelId(key), room, (touched) => new ChannelDelta(key, shape, touched)),
    };
    this.pods = {
      open: (name, room) => pods.open(name, room, (touched) => new UsageDelta("pod", name, shape, touched)),
    };
    this.nodes = {
      open: (name, room) => nodes.open(name, room, (touched) => new UsageDelta("node", name, shape, touched)),
    };
  }

  /** Entities that something was added to since the last drain. */
  get size(): number {
    return this.#all().reduce((sum, { touched }) => sum + touched.size, 0);
  }

  /** What was added since the last time. */
  drain(nowMs: number): Contributions {
    const contributions = {
      links: this.#links.drain(nowMs),
      pairs: this.#pairs.drain(nowMs),
      channels: this.#channels.drain(nowMs),
      demand: this.#demand.drain(nowMs),
      pods: this.#pods.drain(nowMs),
      nodes: this.#nodes.drain(nowMs),
    };
    this.#forget(nowMs);
    return contributions;
  }

  /**
   * What nobody spoke of for two windows: the windows themselves forget it sooner. Looked for once per pane,
   * because it means to look at everything.
   */
  #forget(nowMs: number): void {
    if (Math.abs(nowMs - this.#forgottenMs) < this.shape.paneMs) return;
    this.#forgottenMs = nowMs;
    for (const table of this.#all()) table.forgetIdle(nowMs - FORGET_WINDOWS * this.shape.windowMs, nowMs);
  }

  #all(): readonly {
    readonly touched: { readonly size: number };
    forgetIdle(beforeMs: number, nowMs: number): void;
  }[] {
    return [this.#links, this.#pairs, this.#channels, this.#demand, this.#pods, this.#nodes];
  }
}

function linkId({ source, target, method, ipFamily }: LinkKey): string {
  return `${source}\n${target}\n${method}\n${ipFamily}`;
}

function channelId({ sourceNamespace, source, targetNamespace, target }: ChannelKey): string {
  return `${sourceNamespace}/${source}\n${targetNamespace}/${target}`;
}
