// Tells whether a zone has room for another replica, and its image.
import { looseFields, looseList } from "@isochrone/primitives";
import type { Container, KubernetesObject, PodSpec } from "@isochrone/kubernetes";
import type { ClusterNode } from "@isochrone/topology";
import { identityOf } from "../../adapters/observed-pod.ts";
import type { FramePods } from "./frame-pods.ts";
import type { NodeImages } from "./node-images.ts";

function imagesOf(pod: KubernetesObject): string[] {
  return looseList<Container>(looseFields<PodSpec>(pod.spec).containers).flatMap(({ image }) =>
    typeof image === "string" ? [image] : [],
  );
}

/** Unknown amounts are infinite: kube-scheduler decides. */
interface FreeNode {
  readonly name: string;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
}

export class ClusterRoom {
  readonly #nodes: ReadonlyMap<string, readonly FreeNode[]>;
  readonly #images: Pick<NodeImages, "hasAll" | "sizeMb">;

  constructor(nodes: readonly ClusterNode[], pods: FramePods, images: Pick<NodeImages, "hasAll" | "sizeMb">) {
    const open = nodes.filter(({ ready, cordoned }) => ready && !cordoned);
    const zones = new Map<string, FreeNode[]>(open.map(({ zone }) => [zone ?? "", []]));
    for (const node of open) zones.get(node.zone ?? "")!.push(freeOf(node, pods));
    this.#nodes = zones;
    this.#images = images;
  }

  for(like: KubernetesObject): ReplicaRoom {
    return new ReplicaRoom(like, this.#nodes, this.#images);
  }
}

export class ReplicaRoom {
  readonly memoryBytes: number | null;
  readonly #cpuMillicores: number;
  readonly #images: readonly string[];
  readonly #nodes: ReadonlyMap<string, readonly FreeNode[]>;
  readonly #known: Pick<NodeImages, "hasAll" | "sizeMb">;

  constructor(
    like: KubernetesObject,
    nodes: ReadonlyMap<string, readonly FreeNode[]>,
    images: Pick<NodeImages, "hasAll" | "sizeMb">,
  ) {
    const { cpuMillicores, memoryBytes } = identityOf(like).requests;
    this.memoryBytes = memoryBytes;
    this.#cpuMillicores = cpuMillicores ?? 0;
    this.#images = imagesOf(like);
    this.#nodes = nodes;
    this.#known = images;
  }

  isOpen(zone: string): boolean {
    return (this.#nodes.get(zone) ?? []).some((node) => this.#fits(node));
  }

  pulls(zone: string): boolean {
    const nodes = this.#nodes.get(zone) ?? [];
    return !nodes.some((node) => this.#fits(node) && this.#known.hasAll(node.name, this.#images));
  }

  imageMb(): number | null {
    return this.#known.sizeMb(this.#images);
  }

  #fits({ cpuMillicores, memoryBytes }: FreeNode): boolean {
    return this.#cpuMillicores <= cpuMillicores && (this.memoryBytes ?? 0) <= memoryBytes;
  }
}

function freeOf(node: ClusterNode, pods: FramePods): FreeNode {
  const used = pods.used(node.name);
  const { allocatableCpuMillicores: cpu, allocatableMemoryBytes: memory } = node;
  return {
    name: node.name,
    cpuMillicores: (cpu ?? Number.POSITIVE_INFINITY) - (used.cpuMillicores ?? 0),
    memoryBytes: (memory ?? Number.POSITIVE_INFINITY) - (used.memoryBytes ?? 0),
  };
}
