import { samplesForPercentile } from "@isochrone/primitives";
import { LATENCY_BOUNDS_MS } from "@isochrone/telemetry";
import type { Demand, ServiceDemand, ZoneDemand } from "@isochrone/topology";
import { latencyFlow, type ChannelKey, type Flow } from "../channel-key.ts";
import { fullName, type ClusterState } from "../cluster-state.ts";
import { compareText } from "../compare.ts";
import { bindsOf } from "../traffic/channel-ends.ts";
import type { ChannelState } from "../traffic/channels.ts";
import { panesOf, type WindowName } from "../windows/window-shape.ts";
import type { GraphStamp } from "./cluster-graph.ts";
import { ageSeconds, rfc3339 } from "./graph-time.ts";
import type { Tables } from "./tables.ts";

const ITEMS_PER_STEP = 500;

interface Counted {
  requests: number;
  errors: number;
  /** Answered requests of the whole window; the sample count of the percentiles. */
  answered: number;
  readonly within: number[];
  newestMs: number;
}

export function* demandSteps(
  tables: Tables,
  cluster: ClusterState,
  { version, nowMs }: GraphStamp,
  window: WindowName,
): Generator<void, Demand> {
  const read: { readonly key: ChannelKey; readonly counted: Counted }[] = [];
  for (const state of tables.demand.values()) {
    const counted = countedOf(state, tables, nowMs, window);
    if (counted !== null && counted.requests > 0) read.push({ key: state.key, counted });
    if (read.length % ITEMS_PER_STEP === 0) yield;
  }
  const shares = yield* believedShares(read, tables, nowMs, window);
  const services = new Map<string, { key: ChannelKey; zones: Map<string, Counted> }>();
  for (const { key, counted } of read) {
    const share = shares.get(pairOf(key)) ?? 1;
    if (share === 0) continue;
    const name = fullName({ namespace: key.targetNamespace, name: key.target });
    let service = services.get(name);
    if (service === undefined) services.set(name, (service = { key, zones: new Map() }));
    add(service.zones, key.source, counted, share);
  }
  yield;
  const { shape, figures } = tables;
  const found = Array.from(services, ([name, { key, zones }]): ServiceDemand => {
    const deadlineMs = cluster.deadlines?.get(name) ?? null;
    return {
      namespace: key.targetNamespace,
      name: key.target,
      deadlineMs,
      zones: [...zones]
        .sort(([a], [b]) => compareText(a, b))
        .map(([zone, counted]) => zoneDemand(zone, counted, deadlineMs, nowMs)),
    };
  });
  const shown = found.flatMap((service) => {
    const zones = service.zones.filter(({ requestsPerSecond }) => figures.of(requestsPerSecond) !== null);
    return zones.length === 0 ? [] : [{ ...service, zones }];
  });
  shown.sort((a, b) => compareText(a.namespace, b.namespace) || compareText(a.name, b.name));
  const windowSeconds = (panesOf(shape, window) * shape.paneMs) / 1000;
  return { version, observedAt: rfc3339(nowMs), windowSeconds, services: shown };
}

function countedOf(
  state: ChannelState,
  { shape }: Tables,
  nowMs: number,
  window: WindowName,
): Counted | null {
  const panes = panesOf(shape, window);
  const side = state.side("source");
  const { seconds, beforeMs } = side.coverage.settled(shape, nowMs, panes);
  if (seconds <= 0) return null;
  const rate = (flow: Flow): number => (side.total(flow, nowMs, panes, beforeMs) ?? 0) / seconds;
  return {
    requests: rate("requests"),
    answered: (rate("requests") - rate("errors")) * seconds,
    errors: rate("errors"),
    within: LATENCY_BOUNDS_MS.map((bound) => rate(latencyFlow(bound))),
    newestMs: side.coverage.newestMs,
  };
}

/** Share of a namespace pair's demand that proxies at the Service's side confirm; absent: all. */
function* believedShares(
  read: readonly { readonly key: ChannelKey; readonly counted: Counted }[],
  { channels, meshNamespaces }: Tables,
  nowMs: number,
  window: WindowName,
): Generator<void, ReadonlyMap<string, number>> {
  const claimed = new Map<string, number>();
  for (const { key, counted } of read)
    if (bindsOf("source", key, meshNamespaces) !== "both")
      claimed.set(pairOf(key), (claimed.get(pairOf(key)) ?? 0) + counted.requests);
  if (claimed.size === 0) return claimed;
  const seen = new Map<string, number>();
  let untilStep = ITEMS_PER_STEP;
  for (const channel of channels.values()) {
    const pair = pairOf(channel.key);
    if (claimed.has(pair)) {
      const requests = channel.rates(nowMs, window, "target")?.requestsPerSecond ?? 0;
      seen.set(pair, (seen.get(pair) ?? 0) + requests);
    }
    if (--untilStep > 0) continue;
    untilStep = ITEMS_PER_STEP;
    yield;
  }
  return new Map(Array.from(claimed, ([pair, claim]) => [pair, Math.min(1, (seen.get(pair) ?? 0) / claim)]));
}

function pairOf({ sourceNamespace, targetNamespace }: ChannelKey): string {
  return `${sourceNamespace}\n${targetNamespace}`;
}

function add(zones: Map<string, Counted>, zone: string, counted: Counted, share: number): void {
  let sum = zones.get(zone);
  if (sum === undefined) {
    const within = LATENCY_BOUNDS_MS.map(() => 0);
    zones.set(zone, (sum = { requests: 0, answered: 0, errors: 0, within, newestMs: counted.newestMs }));
  }
  sum.requests += counted.requests * share;
  sum.answered += counted.answered * share;
  sum.errors += counted.errors * share;
  for (const [index, value] of counted.within.entries()) sum.within[index]! += value * share;
  sum.newestMs = Math.max(sum.newestMs, counted.newestMs);
}

function zoneDemand(zone: string, counted: Counted, deadlineMs: number | null, nowMs: number): ZoneDemand {
  const { requests, errors } = counted;
  const answered = Math.max(0, requests - errors);
  const latencyAt = (share: number): number | null =>
    counted.answered < samplesForPercentile(share) ? null : latencyOf(counted.within, answered * share);
  const ratio = (part: number): number => Math.min(1, Math.max(0, part / requests));
  return {
    zone: zone === "" ? null : zone,
    requestsPerSecond: requests,
    errorRatio: ratio(errors),
    inTimeRatio: deadlineMs === null ? null : ratio(withinMs(counted.within, deadlineMs)),
    latencyMs: {
      p50: latencyAt(0.5),
      p90: latencyAt(0.9),
      p99: latencyAt(0.99),
    },
    ageSeconds: ageSeconds(counted.newestMs, nowMs),
  };
}

/** Number of requests that took at most `ms`, interpolated within a bucket. */
function withinMs(within: readonly number[], ms: number): number {
  let [boundBefore, before] = [0, 0];
  for (const [index, bound] of LATENCY_BOUNDS_MS.entries()) {
    const count = within[index]!;
    if (ms <= bound) return before + ((count - before) * (ms - boundBefore)) / (bound - boundBefore);
    [boundBefore, before] = [bound, count];
  }
  return before;
}

/** Latency below which `count` requests lie; null without requests, or if it exceeds all bounds. */
function latencyOf(within: readonly number[], count: number): number | null {
  if (count <= 0) return null;
  let [boundBefore, before] = [0, 0];
  for (const [index, bound] of LATENCY_BOUNDS_MS.entries()) {
    const upTo = within[index]!;
    if (count <= upTo && upTo > before)
      return boundBefore + ((bound - boundBefore) * (count - before)) / (upTo - before);
    [boundBefore, before] = [bound, Math.max(before, upTo)];
  }
  return null;
}
