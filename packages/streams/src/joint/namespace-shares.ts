// Bounds each namespace's share of a link, so that its jobs or promises cannot crowd out others.
import { fairLevel } from "@isochrone/primitives/algorithms";
import type { PlacedJob } from "../placed-job.ts";
import { namespaceOf, type StreamJob } from "../stream-job.ts";

export interface Load {
  readonly links: Int32Array;
  readonly bits: Float64Array;
  /** Maximum usable frames per second. */
  readonly most: number;
  /** Promised frames per second; 0: none. */
  readonly least: number;
  readonly namespace: string;
}

/** Bounds of promises on shared links. */
export const LINK_SHARES = {
  /** Maximum share of a link promised to one namespace. */
  namespace: 0.5,
  /** Maximum share promised to all namespaces, divided max-min fairly. */
  all: 0.8,
} as const;

/** Promised bits/s of a link by namespace. @param declared bits/s by namespace */
export function promisedShares(
  declared: ReadonlyMap<string, number>,
  capacityBitsPerSecond: number,
): Map<string, number> {
  const most = capacityBitsPerSecond * LINK_SHARES.namespace;
  const demands = [...declared.values()].map((rate) => Math.min(most, rate));
  const level = fairLevel(demands, capacityBitsPerSecond * LINK_SHARES.all);
  return new Map([...declared].map(([namespace, rate]) => [namespace, Math.min(most, rate, level)]));
}

interface Demand {
  least: number;
  most: number;
}

/**
 * Capacity by namespace and link: its promises plus its max-min fair share of the rest. A namespace alone on
 * a link has all of it. Null: only one namespace.
 */
export function sharesOf(
  loads: readonly Load[],
  capacities: Float64Array,
): Map<string, Map<number, number>> | null {
  const first = loads[0]?.namespace;
  if (loads.every(({ namespace }) => namespace === first)) return null;
  const shares = new Map<string, Map<number, number>>();
  for (const [link, demands] of demandsOf(loads)) {
    const capacity = capacities[link]!;
    const promised =
      demands.size === 1
        ? null
        : promisedShares(new Map([...demands].map(([name, { least }]) => [name, least])), capacity);
    const kept = (namespace: string): number => promised?.get(namespace) ?? 0;
    let rest = capacity;
    for (const namespace of demands.keys()) rest -= kept(namespace);
    const level = fairLevel(
      [...demands].map(([name, { most }]) => Math.max(0, most - kept(name))),
      rest,
    );
    for (const [namespace, { most }] of demands) {
      const share = promised === null ? capacity : kept(namespace) + Math.min(level, most - kept(namespace));
      const ofNamespace = shares.get(namespace);
      if (ofNamespace === undefined) shares.set(namespace, new Map([[link, share]]));
      else ofNamespace.set(link, share);
    }
  }
  return shares;
}

function demandsOf(loads: readonly Load[]): Map<number, Map<string, Demand>> {
  const all = new Map<number, Map<string, Demand>>();
  for (const { links, bits, most, least, namespace } of loads)
    for (let at = 0; at < links.length; at++) {
      const link = links[at]!;
      let demands = all.get(link);
      if (demands === undefined) all.set(link, (demands = new Map()));
      let demand = demands.get(namespace);
      if (demand === undefined) demands.set(namespace, (demand = { least: 0, most: 0 }));
      demand.least += bits[at]! * least;
      demand.most += bits[at]! * most;
    }
  return all;
}

/**
 * Minimum frames per second of each running job beside a new one: its currently met promise. Another
 * namespace's job may take what exceeds the share of the promise's namespace.
 */
export function leastBeside(
  job: StreamJob,
  running: readonly PlacedJob[],
): readonly { readonly least: number }[] {
  const namespace = namespaceOf(job);
  return running.map(({ job: other, throughput }) => ({
    least: namespaceOf(other) === namespace ? Math.min(other.minThroughput ?? 0, throughput) : 0,
  }));
}
