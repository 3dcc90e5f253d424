import type {
  Bill,
  BillReason,
  BillZone,
  Channel,
  ClusterNode,
  Demand,
  WorkflowGraphSnapshot,
  Workload,
} from "@isochrone/topology";
import { Amount, Amounts } from "./amounts.ts";
import { keyOf, type Billed, type End, type Name } from "./billed.ts";
import { callerWeights, type WeightOf } from "./caller-weights.ts";
import { NO_CHANGE, type Change } from "./change.ts";
import { exchangesOf, type Exchange } from "./exchanges.ts";
import { providerOf, type Place, type PlaceOf } from "./place.ts";
import { rowName, type PriceRow } from "./row.ts";
import type { PriceTable } from "./table.ts";
import { placePairs } from "./zone-pairs.ts";

/** 730 hours, as clouds count a month. */
export const MONTH_SECONDS = 730 * 3600;

/** As far as it is billed. */
export type BilledWorkflow = Pick<WorkflowGraphSnapshot, "name" | "namespace"> & {
  readonly workloads: readonly Workload[];
  readonly channels: readonly Channel[];
};

/** The graphs of one moment. */
export interface BilledGraphs {
  readonly version: number;
  readonly observedAt: string;
  readonly windowSeconds: number;
  readonly nodes: readonly Pick<ClusterNode, "name" | "provider" | "region" | "zone">[];
  readonly workflows: Iterable<BilledWorkflow>;
  readonly demand: Pick<Demand, "services">;
}

type ZonePair = Bill["zones"][number];
type Pairs = Amounts<Pick<ZonePair, "from" | "to">>;

/**
 * What a month of the traffic of now costs. The caller pays for both directions of its channels. A channel
 * without bytes is in the bill as unknown, never as 0.
 * @param change what it would cost with that. @default as it is
 */
export function billOf(graphs: BilledGraphs, table: PriceTable, change: Change = NO_CHANGE): Bill {
  const { version, observedAt, windowSeconds } = graphs;
  const scene = sceneOf(graphs);
  return {
    version,
    observedAt,
    windowSeconds,
    currency: table.currency,
    monthSeconds: MONTH_SECONDS,
    ...sumsOf(exchangesOf(scene.channels, { ...scene, change }), scene, table),
    leftOut: 0,
  };
}

/** The channels of the graphs, and what is known of who sends how much. */
export interface Scene {
  readonly channels: readonly Billed[];
  readonly placeOf: PlaceOf;
  /** By workload that is called, how much callers in each place send, as it was counted. */
  readonly weights: ReadonlyMap<string, WeightOf>;
  readonly windowSeconds: number;
}

export function sceneOf(graphs: Omit<BilledGraphs, "observedAt" | "version">): Scene {
  const placeOf = placesOf(graphs.nodes);
  const channels = [...channelsOf(graphs.workflows)];
  const weights = weightsOf(graphs.demand, channels, placeOf);
  return { channels, placeOf, weights, windowSeconds: graphs.windowSeconds };
}

type Sums = Pick<Bill, "channels" | "namespaces" | "prices" | "total" | "workloads" | "zones">;

/** The sums of a bill of these exchanges. */
export function sumsOf(
  exchanges: readonly Exchange[],
  { placeOf, windowSeconds }: Pick<Scene, "placeOf" | "windowSeconds">,
  table: PriceTable,
): Sums {
  const bill = new BillDraft(placeOf, table, windowSeconds);
  for (const exchange of exchanges) bill.add(exchange);
  return bill.read();
}

class BillDraft {
  readonly #placeOf: PlaceOf;
  readonly #table: PriceTable;
  readonly #windowSeconds: number;
  readonly #total = new Amount();
  #unknown = 0;
  readonly #channels = new Amounts<{ readonly billed: Billed; readonly pairs: Pairs }>();
  readonly #workloads = new Amounts<Name>();
  readonly #namespaces = new Amounts<string>();
  readonly #zones: Pairs = new Amounts();
  readonly #rows = new Map<string, PriceRow>();

  constructor(placeOf: PlaceOf, table: PriceTable, windowSeconds: number) {
    this.#placeOf = placeOf;
    this.#table = table;
    this.#windowSeconds = windowSeconds;
  }

  add(exchange: Exchange): void {
    const { billed } = exchange;
    const { source, target } = billed;
    const pairs: Pairs = new Amounts();
    const amount = this.#channels.at(`${keyOf(source)}\n${keyOf(target)}`, { billed, pairs });
    this.#addBytes(exchange, amount, pairs);
    if (amount.unknown !== null) this.#unknown++;
    const { namespace, name } = source;
    this.#workloads.at(keyOf(source), { namespace, name }).add(amount);
    this.#namespaces.at(namespace, namespace).add(amount);
    this.#total.add(amount);
  }

  #addBytes({ billed, scopes, callers, callees }: Exchange, amount: Amount, pairs: Pairs): void {
    const { bytesPerSecond, ageSeconds } = billed.channel;
    if (bytesPerSecond === null) return amount.addUnpriced(null, "no_bytes");
    if (ageSeconds !== null && ageSeconds > this.#windowSeconds) return amount.addUnpriced(null, "old");
    const split = placePairs(scopes, callers, callees, this.#placeOf);
    if (split.length === 0) return amount.addUnpriced(bytesPerSecond, "no_pods");
    for (const { from, to, share } of split) {
      const key = `${placeKey(from)}\n${placeKey(to)}`;
      const lines = [amount, pairs.at(key, { from, to }), this.#zones.at(key, { from, to })];
      this.#addPair(from, to, share * bytesPerSecond, lines);
    }
  }

  #addPair(from: Place, to: Place, bytesPerSecond: number, lines: readonly Amount[]): void {
    const price = this.#table.between(from, to);
    if (typeof price === "string") {
      for (const line of lines) line.addUnpriced(bytesPerSecond, price satisfies BillReason);
      return;
    }
    for (const row of price.rows) this.#rows.set(rowName(row), row);
    const perMonth = bytesPerSecond * MONTH_SECONDS * price.perByte;
    for (const line of lines) line.addPriced(bytesPerSecond, perMonth);
  }

  read(): Sums {
    const channels = this.#channels.lines().map(({ of: { billed, pairs }, amount }) => ({
      source: nameOf(billed.source),
      target: nameOf(billed.target),
      ...amount.read(),
      unknown: amount.unknown,
      zones: zoneLines(pairs),
    }));
    return {
      total: { ...this.#total.read(), channels: channels.length, channelsUnknown: this.#unknown },
      channels,
      workloads: this.#workloads.lines().map(({ of, amount }) => ({ ...of, ...amount.read() })),
      namespaces: this.#namespaces.lines().map(({ of, amount }) => ({ namespace: of, ...amount.read() })),
      zones: zoneLines(this.#zones),
      prices: [...this.#rows.values()],
    };
  }
}

function zoneLines(pairs: Pairs): ZonePair[] {
  return pairs.lines().map(({ of: { from, to }, amount }) => ({
    from: zoneOf(from),
    to: zoneOf(to),
    ...amount.read(),
    unknown: amount.unknown,
  }));
}

function zoneOf({ provider, region, zone }: BillZone): BillZone {
  return { provider, region, zone };
}

function nameOf({ namespace, name }: Name): Name {
  return { namespace, name };
}

function placeKey({ provider, region, zone }: Place): string {
  return JSON.stringify([provider, region, zone]);
}

/** By workload that is called by way of a Service of its name, how much each zone's callers send. */
function weightsOf(
  { services }: Pick<Demand, "services">,
  channels: readonly Billed[],
  placeOf: PlaceOf,
): ReadonlyMap<string, WeightOf> {
  const weights = new Map<string, WeightOf>();
  if (services.length === 0) return weights;
  const calls = Map.groupBy(channels, ({ target }) => keyOf(target));
  for (const service of services) {
    const of = (calls.get(keyOf(service)) ?? []).map(({ channel, source }) => ({
      channel,
      callers: source.pods,
    }));
    const weightOf = callerWeights(service, of, placeOf);
    if (weightOf !== null) weights.set(keyOf(service), weightOf);
  }
  return weights;
}

/** Nodes of one place share its object. */
function placesOf(nodes: BilledGraphs["nodes"]): PlaceOf {
  const places = new Map<string, Place>();
  const byNode = new Map<string, Place>();
  for (const { name, provider = null, region, zone } of nodes) {
    const place = { provider: providerOf(provider), region, zone };
    const key = placeKey(place);
    const known = places.get(key) ?? place;
    places.set(key, known);
    byNode.set(name, known);
  }
  return (node) => byNode.get(node);
}

/**
 * A channel between workflows is in both, each with what its own namespace believes: that of the source is
 * billed, or the other one's where the source's has no bytes.
 */
function channelsOf(workflows: Iterable<BilledWorkflow>): Iterable<Billed> {
  const found = new Map<string, Billed>();
  for (const { namespace, workloads, channels } of workflows) {
    const byLabel = labelled(namespace, workloads);
    for (const channel of channels) {
      const source = endOf(byLabel.get(channel.source));
      const target = endOf(byLabel.get(channel.target));
      if (source === null || target === null) continue;
      const key = `${keyOf(source)}\n${keyOf(target)}`;
      const billed = { source, target, channel, isOwn: source.namespace === namespace };
      const before = found.get(key);
      if (before === undefined || isBetter(billed, before)) found.set(key, billed);
    }
  }
  return found.values();
}

function isBetter({ channel, isOwn }: Billed, before: Billed): boolean {
  const [has, had] = [channel.bytesPerSecond !== null, before.channel.bytesPerSecond !== null];
  return has === had ? isOwn && !before.isOwn : has;
}

/** The workflow's own namespace wins over an equal name in another one: channels carry names only. */
function labelled(namespace: string, workloads: readonly Workload[]): ReadonlyMap<string, Workload> {
  const byLabel = new Map<string, Workload>();
  for (const workload of workloads)
    if (!byLabel.has(workload.name) || workload.namespace === namespace) byLabel.set(workload.name, workload);
  return byLabel;
}

/** A workload of another namespace may be called namespace/name. */
function endOf(workload: Workload | undefined): End | null {
  if (workload === undefined) return null;
  const { namespace, name, pods } = workload;
  const prefix = `${namespace}/`;
  return { namespace, name: name.startsWith(prefix) ? name.slice(prefix.length) : name, pods };
}
