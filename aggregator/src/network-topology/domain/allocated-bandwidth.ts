import type { BitsPerSecond } from "@isochrone/primitives";
import type { AreaIndex } from "./areas.ts";

export interface PlacedPod {
  readonly namespace: string;
  readonly appGroup: string;
  readonly selector: string;
  readonly node: string;
}

/** Bandwidth need between two workloads of an AppGroup, per pair of their pods. */
export interface Requirement {
  readonly namespace: string;
  readonly appGroup: string;
  readonly selector: string;
  readonly dependencySelector: string;
  readonly minBitsPerSecond: BitsPerSecond;
}

type PodsByPlace = Map<number, number>;

const PODS_PER_STEP = 5000;

/**
 * Bandwidth claimed by placed pods, bit/s, by area pair. Follows the rule of upstream's controller without
 * its bugs. Each pod claims minBandwidth towards each placed pod of its dependencies, from its area to
 * theirs, unless both are equal. A pod's AppGroup is in its own namespace; pods of the dependency may be in
 * any. Stateless, in steps between which the caller may yield.
 */
export function* allocatedBandwidthSteps(
  areas: AreaIndex,
  pods: Iterable<PlacedPod>,
  requirements: Iterable<Requirement>,
): Generator<void, Map<string, bigint>> {
  const own = new Map<string, PodsByPlace>();
  const all = new Map<string, PodsByPlace>();
  let untilStep = PODS_PER_STEP;
  for (const { namespace, appGroup, selector, node } of pods) {
    if (--untilStep <= 0) {
      untilStep = PODS_PER_STEP;
      yield;
    }
    const place = areas.placeOf(node);
    if (place === undefined) continue;
    const workload = `${appGroup}\n${selector}`;
    count(all, workload, place);
    count(own, `${namespace}\n${workload}`, place);
  }
  const allocated = new Map<string, bigint>();
  for (const { namespace, appGroup, selector, dependencySelector, minBitsPerSecond } of requirements) {
    const sources = own.get(`${namespace}\n${appGroup}\n${selector}`);
    const targets = all.get(`${appGroup}\n${dependencySelector}`);
    if (sources === undefined || targets === undefined) continue;
    claim(allocated, areas, sources, targets, BigInt(minBitsPerSecond));
    if (--untilStep <= 0) {
      untilStep = PODS_PER_STEP;
      yield;
    }
  }
  return allocated;
}

function count(workloads: Map<string, PodsByPlace>, workload: string, place: number): void {
  let byPlace = workloads.get(workload);
  if (byPlace === undefined) workloads.set(workload, (byPlace = new Map()));
  byPlace.set(place, (byPlace.get(place) ?? 0) + 1);
}

function claim(
  allocated: Map<string, bigint>,
  areas: AreaIndex,
  sources: PodsByPlace,
  targets: PodsByPlace,
  minBitsPerSecond: bigint,
): void {
  for (const [from, sending] of sources) {
    for (const [to, receiving] of targets) {
      for (const key of areas.keysBetweenPlaces(from, to))
        allocated.set(key, (allocated.get(key) ?? 0n) + BigInt(sending * receiving) * minBitsPerSecond);
    }
  }
}
