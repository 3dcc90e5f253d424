import type { BitsPerSecond } from "@isochrone/primitives";
import type { AreaIndex } from "./areas.ts";

/** A pod of an AppGroup that has a node and has not ended. */
export interface PlacedPod {
  readonly namespace: string;
  /** Value of its AppGroup label. */
  readonly appGroup: string;
  /** Value of its workload label. */
  readonly selector: string;
  readonly node: string;
}

/** What one workload of an AppGroup needs to another one, for each pair of their pods. */
export interface Requirement {
  /** Of the AppGroup. */
  readonly namespace: string;
  readonly appGroup: string;
  /** Of the workload that has the dependency. */
  readonly selector: string;
  readonly dependencySelector: string;
  readonly minBitsPerSecond: BitsPerSecond;
}

/** How many pods of a workload stand where, by place. */
type PodsByPlace = Map<number, number>;

/** Pods between two steps: a few milliseconds' work. */
const PODS_PER_STEP = 5000;

/**
 * Bandwidth that placed pods claim between areas, bits per second, by area pair. The rule of upstream's
 * controller, without its faults: each pod claims minBandwidth towards each placed pod of each of its
 * dependencies, from its own area to the other's, unless both share the area. A pod's AppGroup is the one of
 * its own namespace; pods of the dependency may be in any. Worked out from the state alone, in steps between
 * which a caller may let others have their turn.
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
