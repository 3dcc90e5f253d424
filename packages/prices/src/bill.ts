import { allSteps } from "@isochrone/primitives/algorithms";
import type { Bill, BillReason, ClusterNode, Demand } from "@isochrone/topology";
import { Amount, Amounts } from "./amounts.ts";
import { keyOf, type Billed, type BilledWorkflow, type Name } from "./billed.ts";
import { channelSteps, CHANNELS_PER_STEP } from "./billed-channels.ts";
import { callerWeights, type WeightOf } from "./caller-weights.ts";
import { NO_CHANGE, type Change } from "./change.ts";
import { exchangesOf, type Exchange } from "./exchanges.ts";
import { outsideSteps, type BilledOutside } from "./outside-bill.ts";
import { PricedPairs, type PricedPair } from "./priced-pairs.ts";
import { placesOf, type PlaceOf } from "./place.ts";
import type { PriceRow } from "./row.ts";
import type { PriceTable } from "./table.ts";
import { headlineOf, Unpriced } from "./unpriced.ts";
import { placePairs } from "./zone-pairs.ts";

/** 730 hours, as clouds count a month. */
export const MONTH_SECONDS = 730 * 3600;

const PODS_PER_STEP = 10_000;

export interface BilledGraphs {
  readonly version: number;
  readonly observedAt: string;
  readonly windowSeconds: number;
  readonly nodes: readonly Pick<ClusterNode, "name" | "provider" | "region" | "zone">[];
  readonly workflows: Iterable<BilledWorkflow>;
  readonly demand: Pick<Demand, "services">;
}

type ZonePair = Bill["zones"][number];
type Pairs = Amounts<PricedPair>;
type OutsideLine = NonNullable<Bill["outside"]>[number];
type ChannelLine = Pick<Bill["channels"][number], "source" | "target" | "zones">;

/**
 * Monthly cost of the current traffic. Callers pay for both directions of their channels. A channel without
 * bytes is unknown, never 0.
 */
export function billOf(graphs: BilledGraphs, table: PriceTable, change?: Change): Bill {
  return allSteps(billSteps(graphs, table, change));
}

/** As {@link billOf}, as a generator that yields between steps. @param change hypothetical. @default none */
export function* billSteps(
  graphs: BilledGraphs,
  table: PriceTable,
  change: Change = NO_CHANGE,
): Generator<void, Bill> {
  const scene = yield* sceneSteps(graphs);
  const exchanges = exchangesOf(scene.channels, { ...scene, change });
  const outside = yield* outsideSteps(graphs.workflows, table, scene.placeOf, MONTH_SECONDS);
  const lines = yield* sumSteps(exchanges, scene, table, outside);
  const { version, observedAt, windowSeconds } = graphs;
  const { currency } = table;
  return {
    version,
    observedAt,
    windowSeconds,
    currency,
    monthSeconds: MONTH_SECONDS,
    headline: headlineOf({ ...lines, currency, monthSeconds: MONTH_SECONDS }),
    ...lines,
    leftOut: 0,
  };
}

export interface Scene {
  readonly channels: readonly Billed[];
  readonly placeOf: PlaceOf;
  readonly weights: ReadonlyMap<string, WeightOf>;
  readonly windowSeconds: number;
}

export function* sceneSteps(graphs: Omit<BilledGraphs, "observedAt" | "version">): Generator<void, Scene> {
  const placeOf = placesOf(graphs.nodes);
  const channels = yield* channelSteps(graphs.workflows);
  const weights = yield* weightSteps(graphs.demand, channels, placeOf);
  return { channels, placeOf, weights, windowSeconds: graphs.windowSeconds };
}

export type Sums = Pick<
  Bill,
  | "channels"
  | "destinations"
  | "namespaces"
  | "outside"
  | "prices"
  | "total"
  | "unpriced"
  | "workloads"
  | "zones"
>;

export function* sumSteps(
  exchanges: Iterable<Exchange>,
  { placeOf, windowSeconds }: Pick<Scene, "placeOf" | "windowSeconds">,
  table: PriceTable,
  outside: readonly BilledOutside[] = [],
): Generator<void, Sums> {
  const bill = new BillDraft(placeOf, table, windowSeconds);
  let untilStep = PODS_PER_STEP;
  for (const exchange of exchanges) {
    bill.add(exchange);
    const { callers, callees } = exchange;
    untilStep -= PODS_PER_STEP / CHANNELS_PER_STEP + callers.length + callees.length;
    if (untilStep > 0) continue;
    untilStep = PODS_PER_STEP;
    yield;
  }
  for (const billed of outside) bill.addOutside(billed);
  return yield* bill.readSteps();
}

class BillDraft {
  readonly #placeOf: PlaceOf;
  readonly #pairs: PricedPairs;
  readonly #windowSeconds: number;
  readonly #total = new Amount();
  #unknown = 0;
  readonly #channels = new Amounts<ChannelLine>();
  readonly #workloads = new Amounts<Name>();
  readonly #namespaces = new Amounts<string>();
  readonly #zones: Pairs = new Amounts();
  readonly #outside = new Amounts<Pick<OutsideLine, "destination" | "source">>();
  readonly #destinations = new Amounts<string>();
  readonly #rows = new Set<PriceRow>();
  readonly #unpriced = new Unpriced();

  constructor(placeOf: PlaceOf, table: PriceTable, windowSeconds: number) {
    this.#placeOf = placeOf;
    this.#pairs = new PricedPairs(table);
    this.#windowSeconds = windowSeconds;
  }

  add(exchange: Exchange): void {
    const { source, target } = exchange.billed;
    const line: ChannelLine = { source: nameOf(source), target: nameOf(target), zones: [] };
    const amount = this.#channels.at(`${keyOf(source)}\n${keyOf(target)}`, line);
    const pairs: Pairs = new Amounts();
    this.#addBytes(exchange, amount, pairs);
    line.zones = zoneLines(pairs);
    this.#addTo(source, amount);
  }

  addOutside({ source, destination, amount, rows, unpriced }: BilledOutside): void {
    const line = { source: nameOf(source), destination };
    this.#outside.at(`${keyOf(source)}\n${destination}`, line).add(amount);
    this.#destinations.at(destination, destination).add(amount);
    for (const row of rows) this.#rows.add(row);
    this.#unpriced.addAll(unpriced);
    this.#addTo(source, amount);
  }

  #addTo(source: Name, amount: Amount): void {
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
    if (split.length === 0) {
      this.#unpriced.add(bytesPerSecond, "no_pods");
      return amount.addUnpriced(bytesPerSecond, "no_pods");
    }
    for (const { from, to, share } of split) {
      const pair = this.#pairs.of(from, to);
      const { key } = pair;
      const lines = [amount, pairs.at(key, pair), this.#zones.at(key, pair)];
      this.#addPair(pair, share * bytesPerSecond, lines);
    }
  }

  #addPair(pair: PricedPair, bytesPerSecond: number, lines: readonly Amount[]): void {
    const { price } = pair;
    if (typeof price === "string") {
      this.#unpriced.addPair(bytesPerSecond, pair);
      for (const line of lines) line.addUnpriced(bytesPerSecond, price satisfies BillReason);
      return;
    }
    for (const row of price.rows) this.#rows.add(row);
    const perMonth = bytesPerSecond * MONTH_SECONDS * price.perByte;
    for (const line of lines) line.addPriced(bytesPerSecond, perMonth);
  }

  *readSteps(): Generator<void, Sums> {
    const channels: Bill["channels"] = [];
    for (const { of, amount } of yield* this.#channels.lineSteps()) {
      const { source, target, zones } = of;
      channels.push({ source, target, ...amount.read(), unknown: amount.unknown, zones });
      if (channels.length % CHANNELS_PER_STEP === 0) yield;
    }
    const workloads = yield* this.#workloads.lineSteps();
    const outside = (yield* this.#outside.lineSteps()).map(readLine);
    const destinations = this.#destinations.lines().map(({ of, amount }) => ({
      destination: of,
      ...amount.read(),
      unknown: amount.unknown,
    }));
    const count = channels.length + outside.length;
    return {
      ...(outside.length === 0 ? {} : { outside, destinations }),
      total: { ...this.#total.read(), channels: count, channelsUnknown: this.#unknown },
      channels,
      workloads: workloads.map(({ of, amount }) => ({ ...of, ...amount.read() })),
      namespaces: this.#namespaces.lines().map(({ of, amount }) => ({ namespace: of, ...amount.read() })),
      zones: zoneLines(this.#zones),
      unpriced: this.#unpriced.read(),
      prices: [...this.#rows],
    };
  }
}

function readLine<T extends object>({ of, amount }: { readonly of: T; readonly amount: Amount }) {
  return { ...of, ...amount.read(), unknown: amount.unknown };
}

function zoneLines(pairs: Pairs): ZonePair[] {
  return pairs
    .lines()
    .map(({ of: { from, to }, amount }) => ({ from, to, ...amount.read(), unknown: amount.unknown }));
}

function nameOf({ namespace, name }: Name): Name {
  return { namespace, name };
}

/** Sending weights by zone, per workload called through a Service of its name. */
function* weightSteps(
  { services }: Pick<Demand, "services">,
  channels: readonly Billed[],
  placeOf: PlaceOf,
): Generator<void, ReadonlyMap<string, WeightOf>> {
  const weights = new Map<string, WeightOf>();
  const asked = new Set(services.map(keyOf));
  const calls = new Map<string, Billed[]>();
  for (const [at, billed] of asked.size === 0 ? [] : channels.entries()) {
    if (at % CHANNELS_PER_STEP === 0) yield;
    const key = keyOf(billed.target);
    if (!asked.has(key)) continue;
    const those = calls.get(key);
    if (those === undefined) calls.set(key, [billed]);
    else those.push(billed);
  }
  for (const [at, service] of services.entries()) {
    if (at % CHANNELS_PER_STEP === 0) yield;
    const of = (calls.get(keyOf(service)) ?? []).map(({ channel, source }) => ({
      channel,
      callers: source.pods,
    }));
    const weightOf = callerWeights(service, of, placeOf);
    if (weightOf !== null) weights.set(keyOf(service), weightOf);
  }
  return weights;
}
