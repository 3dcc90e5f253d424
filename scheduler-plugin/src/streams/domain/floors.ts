// Floors of AppGroups: their paths, admission by links, and the capacity left to stream jobs.
import { fairLevel } from "@isochrone/primitives/algorithms";
import { promisedShares, type FlowLink, type FlowNetwork, type PathTable } from "@isochrone/streams";
import { FLOW_PLAN_BOUNDS } from "@isochrone/topology";
import type { AddressedFlow } from "./flow-plans.ts";

/** Remainder of a full link in bit/s: capacity 0 is not allowed. */
const NEXT_TO_NOTHING = 1;

export const FLOOR_BOUNDS = {
  /** Pairs of pods with a floor over all namespaces, shared max-min fairly. */
  pairs: 20_000,
  bitsPerSecond: 1e15,
} as const;

/** Uses the shortest path of the network; without links, directly from node to node. */
export function routed(
  floors: readonly Omit<AddressedFlow, "route">[],
  { network, paths }: { readonly network: FlowNetwork; readonly paths: PathTable },
): AddressedFlow[] {
  return floors.map((floor) => {
    const { source, target } = floor;
    const [from, to] = [network.indexOf(source.node), network.indexOf(target.node)];
    const [path] = from === null || to === null ? [] : paths.between(from, to);
    const route = path?.nodes.map((node) => network.nodes[node]!) ?? [source.node, target.node];
    // The kernel's path may differ; relays then forward as usual.
    return { ...floor, route, isKernels: true };
  });
}

export interface AdmittedFloors {
  readonly floors: readonly AddressedFlow[];
  readonly cut: readonly AddressedFlow[];
}

interface Pool {
  readonly capacityBitsPerSecond: number;
  readonly rates: Map<string, number[]>;
  readonly levels: Map<string, number>;
}

/**
 * Cuts floors to their namespace's share of each link, large floors first. A hop without a link has unknown
 * capacity and cuts nothing.
 */
export function admitted(floors: readonly AddressedFlow[], links: readonly FlowLink[]): AdmittedFloors {
  const pools = poolsOf(links);
  const on = ({ route }: AddressedFlow): Pool[] =>
    hopsOf(route).flatMap((hop) => {
      const pool = pools.get(hop);
      return pool === undefined ? [] : [pool];
    });
  for (const floor of floors)
    for (const { rates } of on(floor)) {
      const { namespace } = floor.owner;
      const others = rates.get(namespace);
      if (others === undefined) rates.set(namespace, [floor.bitsPerSecond]);
      else others.push(floor.bitsPerSecond);
    }
  for (const pool of new Set(pools.values())) share(pool);
  const cut: AddressedFlow[] = [];
  const kept = floors.map((floor) => {
    const levels = on(floor).map((pool) => pool.levels.get(floor.owner.namespace)!);
    const bitsPerSecond = Math.min(floor.bitsPerSecond, ...levels);
    if (bitsPerSecond === floor.bitsPerSecond) return floor;
    cut.push(floor);
    return { ...floor, bitsPerSecond: Math.floor(bitsPerSecond) };
  });
  return { floors: kept.filter(({ bitsPerSecond }) => bitsPerSecond > 0), cut };
}

function share({ capacityBitsPerSecond, rates, levels }: Pool): void {
  const declared = new Map([...rates].map(([namespace, all]) => [namespace, sum(all)]));
  for (const [namespace, share] of promisedShares(declared, capacityBitsPerSecond))
    levels.set(namespace, fairLevel(rates.get(namespace)!, share));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function poolsOf(links: readonly FlowLink[]): Map<string, Pool> {
  const pools = new Map<string, Pool>();
  for (const { source, target, capacityBitsPerSecond, duplex = "full" } of links) {
    const pool = (): Pool => ({ capacityBitsPerSecond, rates: new Map(), levels: new Map() });
    const there = pool();
    pools.set(`${source} ${target}`, there);
    if (duplex !== "simplex") pools.set(`${target} ${source}`, duplex === "half" ? there : pool());
  }
  return pools;
}

function hopsOf(route: readonly string[]): string[] {
  return route.slice(0, -1).map((node, at) => `${node} ${route[at + 1]!}`);
}

/**
 * Links with the capacity that floors leave to stream jobs. On links with floors it excludes the reserve for
 * unplanned traffic, which network managers need to keep the floors.
 */
export function beside(links: readonly FlowLink[], floors: readonly AddressedFlow[]): readonly FlowLink[] {
  const used = new Map<string, number>();
  for (const { route, bitsPerSecond } of floors)
    for (const hop of hopsOf(route)) used.set(hop, (used.get(hop) ?? 0) + bitsPerSecond);
  if (used.size === 0) return links;
  const on = (source: string, target: string): number => used.get(`${source} ${target}`) ?? 0;
  return links.flatMap((link): FlowLink[] => {
    const { source, target, capacityBitsPerSecond, duplex = "full" } = link;
    const left = (bitsPerSecond: number): number =>
      bitsPerSecond === 0
        ? capacityBitsPerSecond
        : Math.max(
            NEXT_TO_NOTHING,
            Math.floor(capacityBitsPerSecond * (1 - FLOW_PLAN_BOUNDS.restShare) - bitsPerSecond),
          );
    const [there, back] = [on(source, target), on(target, source)];
    if (there === 0 && back === 0) return [link];
    if (duplex !== "full")
      return [{ ...link, capacityBitsPerSecond: left(duplex === "half" ? there + back : there) }];
    return [
      { source, target, capacityBitsPerSecond: left(there), duplex: "simplex" },
      { source: target, target: source, capacityBitsPerSecond: left(back), duplex: "simplex" },
    ];
  });
}
