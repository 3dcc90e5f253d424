// Dispatch by weights or hints computed once per frame, as possible without a proxy of our own.
import type { Draw } from "@isochrone/primitives";
import { chosen, CLOUD, type DispatchChoice, type Dispatcher } from "../dispatcher.ts";
import type { NodeState, SystemState } from "../system.ts";
import { capacityPerSecond, weightsOf } from "../weights.ts";
import { anyReplica } from "./plain.ts";

/** A mesh splits by weights; with hints all endpoints of a set get equal parts. */
type WeightedMode = "weights" | "hints";

const RATE_SMOOTHING = 0.5;
const UPLINK_PART = 0.7;
const LEAST_HINT = 0.02;

interface Part {
  readonly node: number | typeof CLOUD;
  readonly share: number;
}

export interface WeightedDispatcher extends Dispatcher {
  /** @param perSecond requests of the last frame by service and site */
  plan(state: SystemState, perSecond: readonly (readonly number[])[]): void;
}

export function weighted(mode: WeightedMode, draw: Draw): WeightedDispatcher {
  let rates: number[][] | null = null;
  let table: readonly (readonly (readonly Part[])[])[] | null = null;
  return {
    name: mode,
    plan(state, perSecond): void {
      rates = perSecond.map((sites, service) =>
        sites.map((rate, site) => {
          const before = rates?.[service]?.[site] ?? rate;
          return before + RATE_SMOOTHING * (rate - before);
        }),
      );
      table = tableOf(state, rates, mode);
    },
    choose({ service, site }, { state }): DispatchChoice {
      const drawn = pick(table?.[service]?.[site] ?? [], draw);
      const isThere = drawn === CLOUD || (drawn !== undefined && state.nodes[drawn]!.ready[service]! > 0);
      return chosen(isThere ? drawn! : (anyReplica(service, state.nodes, draw) ?? CLOUD));
    },
  };
}

function pick(parts: readonly Part[], draw: Draw): Part["node"] | undefined {
  let left = draw();
  for (const { node, share } of parts) {
    left -= share;
    if (left <= 0) return node;
  }
  return parts.at(-1)?.node;
}

function tableOf(state: SystemState, rates: readonly (readonly number[])[], mode: WeightedMode): Part[][][] {
  const uplinks = state.sites.map(() => UPLINK_PART * state.network.uplinkMbPerSecond);
  return state.services.map(({ payloadMb, workSeconds }, service) => {
    const nodes = state.nodes.filter(({ ready }) => ready[service]! > 0);
    const targets = nodes.map(({ site, ready }) => ({
      site: String(site),
      capacityPerSecond: capacityPerSecond(ready[service]!, workSeconds),
    }));
    const bySite = (value: (site: number) => number): ReadonlyMap<string, number> =>
      new Map(state.sites.map((_, site) => [String(site), value(site)]));
    const demand = bySite((site) => rates[service]![site]!);
    const { sites } = weightsOf({ demand, targets, cloud: bySite((site) => uplinks[site]! / payloadMb) });
    return sites.map(({ shares, cloud }, site) => {
      uplinks[site] = Math.max(0, uplinks[site]! - cloud * rates[service]![site]! * payloadMb);
      return mode === "weights"
        ? weightedParts(nodes, shares, cloud)
        : hintedParts(nodes, service, shares, cloud);
    });
  });
}

function weightedParts(nodes: readonly NodeState[], shares: readonly number[], cloud: number): Part[] {
  return [
    ...nodes.map(({ index }, at) => ({ node: index, share: shares[at]! })),
    { node: CLOUD, share: cloud },
  ];
}

function hintedParts(
  nodes: readonly NodeState[],
  service: number,
  shares: readonly number[],
  cloud: number,
): Part[] {
  const hinted = nodes.filter((_, at) => shares[at]! > LEAST_HINT);
  const endpoints = [
    ...hinted.map(({ index, ready }) => ({ node: index, count: ready[service]! })),
    ...(cloud > LEAST_HINT ? [{ node: CLOUD, count: 1 }] : []),
  ];
  const total = endpoints.reduce((sum, { count }) => sum + count, 0);
  return endpoints.map(({ node, count }) => ({ node, share: count / total }));
}
