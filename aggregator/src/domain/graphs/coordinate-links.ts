import type { ClusterGraphSnapshot, Link } from "@isochrone/topology";
import { declaredCapacity, linkBandwidth } from "../bandwidth/bandwidth-view.ts";
import { networkOf, unprobedLink } from "./cluster-graph.ts";
import type { CostRule } from "./cost-rule.ts";
import type { LinkOrder } from "../compare.ts";
import type { Coordinates } from "../../coordinates/domain/coordinates.ts";
import { rfc3339 } from "./graph-time.ts";

/**
 * Returns the graph's links with additional links for pairs without a decided one: estimated by coordinates,
 * else declared if both nodes declare their capacity. A measured pair, or one that never answered, gets none.
 */
export function withEstimated(
  { observedAt, nodes, links }: ClusterGraphSnapshot,
  coordinates: Coordinates | null,
  rule: CostRule,
  order: LinkOrder,
): Link[] {
  const nowMs = Date.parse(observedAt);
  const decided = new Set(links.filter(isDecided).map(pairKey));
  const listed = new Set(links.map(pairKey));
  const all = [...links];
  for (const source of nodes) {
    for (const target of nodes) {
      const pair = { source: source.name, target: target.name };
      const key = pairKey(pair);
      if (source === target || decided.has(key)) continue;
      const estimate = coordinates?.estimate(pair.source, pair.target) ?? null;
      const [from, to] = [networkOf(source), networkOf(target)];
      if (estimate === null && (listed.has(key) || declaredCapacity(from, to) === null)) continue;
      const bare = unprobedLink(pair, linkBandwidth(from, to, null, nowMs), rule, "declared");
      all.push(estimate === null ? bare : { ...bare, ...estimated(estimate, coordinates!, nowMs) });
    }
  }
  return all.sort(order);
}

/** Returns true for a pair that needs no estimate: measured, declared, or without any answer. */
export function isDecided({ origin, costMs, lossRatio }: Link): boolean {
  return origin === "measured"
    ? costMs !== null || lossRatio === 1
    : origin === "declared" && costMs !== null;
}

function estimated(
  { rttMs, errorMs }: { readonly rttMs: number; readonly errorMs: number | null },
  coordinates: Coordinates,
  nowMs: number,
): Pick<Link, "costMs" | "errorMs" | "origin" | "ageSeconds" | "observedAt"> {
  return {
    costMs: rttMs,
    errorMs,
    origin: "estimated",
    ageSeconds: coordinates.ageMs(nowMs) / 1000,
    observedAt: rfc3339(coordinates.info.sampledMs),
  };
}

function pairKey({ source, target }: { readonly source: string; readonly target: string }): string {
  return `${source}\n${target}`;
}
