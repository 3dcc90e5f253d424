// Whether zones have room for a replica more, and its image.
import { looseFields, looseList } from "@isochrone/kubernetes";
import type { Container, KubernetesObject, PodSpec } from "@isochrone/kubernetes";
import type { ResourceAmounts } from "@isochrone/placement";
import type { ClusterNode } from "@isochrone/topology";
import { identityOf } from "../../adapters/observed-pod.ts";
import type { FramePods } from "./frame-pods.ts";
import type { NodeImages } from "./node-images.ts";

/** Names of its containers' images. */
function imagesOf(pod: KubernetesObject): string[] {
  return looseList<Container>(looseFields<PodSpec>(pod.spec).containers).flatMap(({ image }) =>
    typeof image === "string" ? [image] : [],
  );
}

/** Where a zone has room for one replica more: `full` nowhere, `pulls` only where its image isn't. */
type Room = "full" | "pulls" | "ready";

export class ClusterRoom {
  readonly #nodes: ReadonlyMap<string, readonly ClusterNode[]>;
  readonly #pods: FramePods;
  readonly #images: Pick<NodeImages, "hasAll" | "sizeMb">;

  constructor(nodes: readonly ClusterNode[], pods: FramePods, images: Pick<NodeImages, "hasAll" | "sizeMb">) {
    this.#nodes = Map.groupBy(
      nodes.filter(({ ready, cordoned }) => ready && !cordoned),
      ({ zone }) => zone ?? "",
    );
    this.#pods = pods;
    this.#images = images;
  }

  /** For a pod like this one. */
  of(zone: string, like: KubernetesObject): Room {
    const { requests } = identityOf(like);
    const images = imagesOf(like);
    let room: Room = "full";
    for (const node of this.#nodes.get(zone) ?? []) {
      if (!this.#fits(node, requests)) continue;
      if (this.#images.hasAll(node.name, images)) return "ready";
      room = "pulls";
    }
    return room;
  }

  imageMb(like: KubernetesObject): number | null {
    return this.#images.sizeMb(imagesOf(like));
  }

  /** What isn't known keeps nobody out: kube-scheduler judges. */
  #fits(node: ClusterNode, { cpuMillicores, memoryBytes }: ResourceAmounts): boolean {
    const used = this.#pods.used(node.name);
    const { allocatableCpuMillicores: cpu, allocatableMemoryBytes: memory } = node;
    return (
      (cpu === null || (used.cpuMillicores ?? 0) + (cpuMillicores ?? 0) <= cpu) &&
      (memory === null || (used.memoryBytes ?? 0) + (memoryBytes ?? 0) <= memory)
    );
  }
}
