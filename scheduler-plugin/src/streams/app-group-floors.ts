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
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { appGroupLabels } from "@isochrone/topology";
import { isGone } from "../adapters/observed-pod.ts";
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

/** Pairs of pods that are planned; more are left to the network. */
const MAX_FLOORS = 20_000;

export class AppGroupFloors {
  readonly #groups: Informer;
  /** By namespace, group and selector, then by name. */
  readonly #pods = new Map<string, Map<string, KubernetesObject>>();
  #version = 0;
  #made: { readonly version: number; readonly floors: readonly FloorFlow[] } | null = null;

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

  /** Between pods on different nodes; pods of other namespaces than the AppGroup's don't count. */
  floors(): readonly FloorFlow[] {
    if (this.#made?.version !== this.#version)
      this.#made = {
        version: this.#version,
        floors: this.#groups.items().flatMap((group) => this.#floorsOf(group)),
      };
    return this.#made.floors.slice(0, MAX_FLOORS);
  }

  #floorsOf(group: KubernetesObject): FloorFlow[] {
    const { namespace = "default", name } = group.metadata;
    const floors: FloorFlow[] = [];
    for (const { selector, dependency, minBitsPerSecond } of bandwidthNeeds(group))
      for (const source of this.#placed(namespace, name, selector))
        for (const target of this.#placed(namespace, name, dependency)) {
          if (source.node === target.node || !(minBitsPerSecond > 0)) continue;
          floors.push({
            id: `${namespace}/${name}/${source.name}->${target.name}`,
            owner: { kind: "AppGroup", namespace, name },
            channel: { source: source.workload, target: target.workload },
            source: { node: source.node, address: source.address, port: null },
            target: { node: target.node, address: target.address, port: null },
            bitsPerSecond: minBitsPerSecond,
          });
        }
    return floors;
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

function keyIn(namespace: string, group: string, selector: string): string {
  return `${namespace}/${group}/${selector}`;
}
