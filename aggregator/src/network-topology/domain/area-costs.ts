import { DEFAULT_METHOD_ORDER, type ClusterGraphSnapshot, type Link } from "@isochrone/topology";
import { median } from "@isochrone/primitives";
import { areaKey, areaPairOf, reversed, type AreaIndex } from "./areas.ts";

const LINKS_PER_STEP = 5000;
const IP_FAMILIES = 2;

/**
 * Round-trip time between areas, ms, by area pair: the median over node pairs of their p90. Never mixes
 * methods: only the first method in the graph's order with a measured node pair counts, IPv4 before IPv6. An
 * unmeasured direction uses the reverse one, because a round trip crosses both. Omits unknown pairs. In steps
 * between which the caller may yield.
 */
export function* areaCostSteps(
  graph: ClusterGraphSnapshot,
  areas: AreaIndex,
  maxAgeSeconds: number,
): Generator<void, Map<string, number>> {
  const methods: readonly string[] = graph.costMethods ?? DEFAULT_METHOD_ORDER;
  const ranks = new Map(methods.map((method, rank) => [method, rank]));
  const figures = new Map<string, number[][]>();
  let untilStep = LINKS_PER_STEP;
  for (const link of graph.links) {
    if (--untilStep <= 0) {
      untilStep = LINKS_PER_STEP;
      yield;
    }
    const p90Ms = liveP90Ms(link, maxAgeSeconds);
    const rank = ranks.get(link.method);
    if (p90Ms === null || rank === undefined) continue;
    const way = rank * IP_FAMILIES + (link.ipFamily === 4 ? 0 : 1);
    for (const key of areas.keysBetween(link.source, link.target)) {
      let byWay = figures.get(key);
      if (byWay === undefined) figures.set(key, (byWay = []));
      (byWay[way] ??= []).push(p90Ms);
    }
  }
  const costs = new Map<string, number>();
  for (const [key, byWay] of figures) {
    yield;
    costs.set(key, median(byWay.find((values) => values !== undefined)!)!);
  }
  return withOtherDirections(costs);
}

function withOtherDirections(costs: ReadonlyMap<string, number>): Map<string, number> {
  const both = new Map(costs);
  for (const [key, costMs] of costs) {
    const back = areaKey(reversed(areaPairOf(key)));
    if (!costs.has(back)) both.set(back, costMs);
  }
  return both;
}

function liveP90Ms({ origin, rttMs, ageSeconds }: Link, maxAgeSeconds: number): number | null {
  if (origin !== "measured" || ageSeconds === null || ageSeconds > maxAgeSeconds) return null;
  return rttMs.p90 !== null && rttMs.p90 >= 0 && Number.isFinite(rttMs.p90) ? rttMs.p90 : null;
}
