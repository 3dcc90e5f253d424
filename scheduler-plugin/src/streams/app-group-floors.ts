// Turns minBandwidth of AppGroups' dependencies into floors between placed pods, which precede stream jobs.
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

export type FloorFlow = Omit<AddressedFlow, "route">;

interface PlacedPod {
  readonly name: string;
  readonly workload: string;
  readonly node: string;
  readonly address: string;
}

/** Bit/s by selector of the source, then of the target. */
type Rates = ReadonlyMap<string, ReadonlyMap<string, number>>;

interface WorkloadFloor {
  readonly bitsPerSecond: number;
  readonly sources: readonly PlacedPod[];
  readonly targets: ReadonlyMap<string, readonly PlacedPod[]>;
  readonly pairs: number;
}

interface PlannedGroup {
  readonly group: KubernetesObject;
  readonly pairs: number;
  /** Below `pairs` if the namespace exceeds its share. */
  readonly planned: number;
}

/** Longest workload name in a flow plan. An owner reference may be longer. */
const MAX_NAME = 253;

export class AppGroupFloors {
  readonly #groups: Informer;
  readonly #pods = new Map<string, Map<string, KubernetesObject>>();
  /** A new AppGroup version is a new object. */
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

  /** Between pods on different nodes. Returns the same list while nothing changes. */
  floors(): readonly FloorFlow[] {
    if (this.#madeOf !== this.#version) {
      this.#make();
      this.#madeOf = this.#version;
    }
    return this.#floors;
  }

  groups(): readonly PlannedGroup[] {
    return this.#planned;
  }

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
