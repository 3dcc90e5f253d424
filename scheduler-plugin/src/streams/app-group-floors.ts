// minBandwidth of AppGroups' dependencies as floors between placed pods: without any StreamJob, and before
// stream jobs get what is left.
import {
  bandwidthNeeds,
  createInformer,
  keyOf,
  KINDS,
  workloadOf,
  type ClusterStore,
  type Informer,
  type InformerChange,
  type KubernetesObject,
  type PodSpec,
} from "@isochrone/kubernetes";
import { looseFields, looseText } from "@isochrone/primitives";
import { fairLevel } from "@isochrone/primitives/algorithms";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { appGroupLabels } from "@isochrone/topology";
import { isGone } from "../adapters/observed-pod.ts";
import { FLOOR_BOUNDS } from "./domain/floors.ts";
import type { AddressedFlow } from "./domain/flow-plans.ts";
import { podAddress } from "./job-pods.ts";

interface AppGroupFloorsOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A flow that takes the kernel's own path. */
export type FloorFlow = Omit<AddressedFlow, "route">;

/** A bound pod with an address. */
interface PlacedPod {
  readonly name: string;
  readonly workload: string;
  readonly node: string;
  readonly address: string;
}

/** Bits per second by selector of the source, then of the target. */
type Rates = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Floors between all pods of two workloads. */
interface WorkloadFloor {
  readonly bitsPerSecond: number;
  readonly sources: readonly PlacedPod[];
  /** Pods of the called workload by node. */
  readonly targets: ReadonlyMap<string, readonly PlacedPod[]>;
  /** Pairs of pods on different nodes. */
  readonly pairs: number;
}

interface PlannedGroup {
  readonly group: KubernetesObject;
  readonly pairs: number;
  /** Pairs that are planned; fewer than `pairs` if the namespace has more than its share. */
  readonly planned: number;
}

/** Longest name of a workload in a flow plan. An owner reference may have a longer one. */
const MAX_NAME = 253;

export class AppGroupFloors {
  readonly #groups: Informer;
  /** By namespace, group and selector, then by name. */
  readonly #pods = new Map<string, Map<string, KubernetesObject>>();
  /** Rates by AppGroup: a new version is a new object. */
  readonly #rates = new WeakMap<KubernetesObject, Rates>();
  #version = 0;
  #madeOf: number | null = null;
  #floors: readonly FloorFlow[] = [];
  #planned: readonly PlannedGroup[] = [];

  constructor(options: AppGroupFloorsOptions) {
    this.#groups = createInformer({ ...options, kind: KINDS.appGroup });
    this.#groups.onChange(() => void this.#version++);
  }

  async stop(): Promise<void> {
    await this.#groups.stop();
  }

  takePod({ type, object }: InformerChange): void {
    const labels = appGroupLabels(object.metadata.labels);
    if (labels === null) return;
    const { namespace = "default" } = object.metadata;
    const key = keyIn(namespace, labels.group, labels.selector);
    const pods = this.#pods.get(key) ?? new Map<string, KubernetesObject>();
    if (type === "deleted") pods.delete(keyOf(object));
    else pods.set(keyOf(object), object);
    if (pods.size === 0) this.#pods.delete(key);
    else this.#pods.set(key, pods);
    this.#version++;
  }

  /** Between pods on different nodes of the AppGroup's namespace. The same list while nothing changes. */
  floors(): readonly FloorFlow[] {
    if (this.#madeOf !== this.#version) {
      this.#make();
      this.#madeOf = this.#version;
    }
    return this.#floors;
  }

  /** Pairs of each AppGroup that are declared, and that `floors` has planned. */
  groups(): readonly PlannedGroup[] {
    return this.#planned;
  }

  /** Counts the pairs of all AppGroups before it makes the first one. */
  #make(): void {
    const groups = this.#groups.items().toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    const counted = groups.map((group) => ({ group, between: this.#between(group) }));
    const left = new Map<string, number>();
    for (const { group, between } of counted) {
      const { namespace = "default" } = group.metadata;
      left.set(namespace, (left.get(namespace) ?? 0) + pairsOf(between));
    }
    const level = Math.floor(fairLevel(left.values(), FLOOR_BOUNDS.pairs));
    for (const [namespace, pairs] of left) left.set(namespace, Math.min(pairs, level));
    const floors: FloorFlow[] = [];
    this.#planned = counted.map(({ group, between }) => {
      const { namespace = "default" } = group.metadata;
      const pairs = pairsOf(between);
      const planned = Math.min(pairs, left.get(namespace)!);
      left.set(namespace, left.get(namespace)! - planned);
      makeFloors(group, between, planned, floors);
      return { group, pairs, planned };
    });
    this.#floors = floors;
  }

  #between(group: KubernetesObject): WorkloadFloor[] {
    const { namespace = "default", name } = group.metadata;
    const rates = this.#rates.get(group) ?? ratesOf(group);
    this.#rates.set(group, rates);
    const pods = new Map<string, PlacedPod[]>();
    const placed = (selector: string): PlacedPod[] => {
      const known = pods.get(selector) ?? this.#placed(namespace, name, selector);
      pods.set(selector, known);
      return known;
    };
    return [...rates].flatMap(([selector, row]) => {
      const sources = placed(selector);
      if (sources.length === 0) return [];
      return [...row].flatMap(([dependency, rate]) => {
        const all = placed(dependency);
        if (all.length === 0) return [];
        const targets = Map.groupBy(all, ({ node }) => node);
        let pairs = sources.length * all.length;
        for (const { node } of sources) pairs -= targets.get(node)?.length ?? 0;
        const bitsPerSecond = Math.min(rate, FLOOR_BOUNDS.bitsPerSecond);
        return pairs === 0 ? [] : [{ bitsPerSecond, sources, targets, pairs }];
      });
    });
  }

  #placed(namespace: string, group: string, selector: string): PlacedPod[] {
    const placed: PlacedPod[] = [];
    for (const pod of this.#pods.get(keyIn(namespace, group, selector))?.values() ?? []) {
      const node = looseText(looseFields<PodSpec>(pod.spec).nodeName);
      const address = podAddress(pod, null);
      if (node !== "" && address !== null && !isGone(pod))
        placed.push({ name: pod.metadata.name, workload: workloadOf(pod).name, node, address });
    }
    return placed;
  }
}

/** Dependencies between the same two workloads are one floor with the sum of their rates. */
function ratesOf(group: KubernetesObject): Rates {
  const rates = new Map<string, Map<string, number>>();
  for (const { selector, dependency, minBitsPerSecond } of bandwidthNeeds(group)) {
    if (!(minBitsPerSecond > 0)) continue;
    const row = rates.get(selector) ?? new Map<string, number>();
    rates.set(selector, row);
    row.set(dependency, (row.get(dependency) ?? 0) + minBitsPerSecond);
  }
  return rates;
}

function pairsOf(between: readonly WorkloadFloor[]): number {
  return between.reduce((sum, { pairs }) => sum + pairs, 0);
}

/** Adds the first `most` floors of the group. */
function makeFloors(
  { metadata }: KubernetesObject,
  between: readonly WorkloadFloor[],
  most: number,
  floors: FloorFlow[],
): void {
  const { namespace = "default", name } = metadata;
  const end = floors.length + most;
  for (const { sources, targets, bitsPerSecond } of between)
    for (const source of sources)
      for (const [node, there] of targets) {
        if (node === source.node) continue;
        for (const target of there) {
          if (floors.length >= end) return;
          const { workload: from } = source;
          const { workload: to } = target;
          floors.push({
            id: `${namespace}/${name}/${source.name}->${target.name}`,
            owner: { kind: "AppGroup", namespace, name },
            ...(isShort(from) && isShort(to) ? { channel: { source: from, target: to } } : {}),
            source: { node: source.node, address: source.address, port: null },
            target: { node: target.node, address: target.address, port: null },
            bitsPerSecond,
          });
        }
      }
}

function isShort(name: string): boolean {
  return name !== "" && name.length <= MAX_NAME;
}

function keyIn(namespace: string, group: string, selector: string): string {
  return `${namespace}/${group}/${selector}`;
}
