// Shares of namespaces of a link: no number of jobs or promises of one namespace pushes out the others.
import { fairLevel } from "@isochrone/primitives/algorithms";
import type { PlacedJob } from "../placed-job.ts";
import { namespaceOf, type StreamJob } from "../stream-job.ts";

/** A job's bits on the network, and how fast it may go. */
export interface Load {
  /** Indexes of capacities, each once. */
  readonly links: Int32Array;
  /** Bits per frame on each of `links`. */
  readonly bits: Float64Array;
  /** Frames per second that it can use at most. */
  readonly most: number;
  /** Frames per second that it is promised; 0 without a promise. */
  readonly least: number;
  /** Namespaces share links. */
  readonly namespace: string;
}

/** Bounds of what namespaces may be promised of a link that they share. */
export const LINK_SHARES = {
  /** Share of a link that is promised to one namespace at most. */
  namespace: 0.5,
  /** Share of a link that is promised to all namespaces at most; they share it max-min fairly. */
  all: 0.8,
} as const;

/**
 * Returns what each namespace is promised of a link, bits/s.
 * @param declared bits/s by namespace
 */
export function promisedShares(
  declared: ReadonlyMap<string, number>,
  capacityBitsPerSecond: number,
): Map<string, number> {
  const most = capacityBitsPerSecond * LINK_SHARES.namespace;
  const demands = [...declared.values()].map((rate) => Math.min(most, rate));
  const level = fairLevel(demands, capacityBitsPerSecond * LINK_SHARES.all);
  return new Map([...declared].map(([namespace, rate]) => [namespace, Math.min(most, rate, level)]));
}

/** Bits per second that the jobs of a namespace ask for on a link. */
interface Demand {
  least: number;
  most: number;
}

/**
 * Capacity of each link for one namespace, by namespace and link: what it is promised, and of the rest its
 * max-min fair share. A namespace that is alone on a link has all of it. Null: there is one namespace.
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

/** Demands by link and namespace. */
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
 * Frames per second that each running job must have beside a new one: what it has of its promise. Another
 * namespace's job may take what is beyond the share of the promise's namespace.
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
