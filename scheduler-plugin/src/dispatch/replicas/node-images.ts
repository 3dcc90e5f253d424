// Nodes by image: a replica starts cheaper on a node with its image. Kubelets report at most 50 images.
import { createInformer, KINDS } from "@isochrone/kubernetes";
import { looseFields, looseList } from "@isochrone/primitives";
import type { ClusterStore, Informer, KubernetesObject, NodeStatus } from "@isochrone/kubernetes";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";

interface NodeImagesOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const MEGABYTE = 1e6;

export class NodeImages implements Service {
  readonly #options: NodeImagesOptions;
  /** Size in MB. Interns names, because many nodes have the same. */
  readonly #sizes = new Map<string, number>();
  readonly #ofNode = new Map<string, ReadonlySet<string>>();
  #informer: Informer | null = null;

  constructor(options: NodeImagesOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    this.#informer = createInformer({ ...this.#options, kind: KINDS.node, trim: bareNode });
    this.#informer.onChange(({ type, object }) => {
      if (type === "deleted") this.#ofNode.delete(object.metadata.name);
      else this.#take(object);
    });
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#informer?.stop();
  }

  hasAll(node: string, images: readonly string[]): boolean {
    const there = this.#ofNode.get(node);
    return there !== undefined && images.every((image) => there.has(fullName(image)));
  }

  sizeMb(images: readonly string[]): number | null {
    let sum = 0;
    for (const image of images) {
      const size = this.#sizes.get(fullName(image));
      if (size === undefined) return null;
      sum += size;
    }
    return sum;
  }

  #take({ metadata, status }: KubernetesObject): void {
    const images = looseList(looseFields<NodeStatus>(status).images).flatMap(({ names, sizeBytes }) => {
      const sizeMb = typeof sizeBytes === "number" && sizeBytes >= 0 ? sizeBytes / MEGABYTE : 0;
      return (Array.isArray(names) ? names : []).flatMap((name: unknown) => {
        if (typeof name !== "string" || name.includes("@")) return [];
        this.#sizes.set(fullName(name), sizeMb);
        return [fullName(name)];
      });
    });
    this.#ofNode.set(metadata.name, new Set(images));
  }
}

function bareNode({ apiVersion, kind, metadata, status }: KubernetesObject): KubernetesObject {
  const { name, uid, resourceVersion } = metadata;
  const { images } = looseFields<NodeStatus>(status);
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    status: { images },
  };
}

/** Expands as container runtimes do: `nginx` is `docker.io/library/nginx:latest`. */
function fullName(image: string): string {
  const parts = image.split("/");
  const [host = ""] = parts;
  const isHosted = parts.length > 1 && (host.includes(".") || host.includes(":") || host === "localhost");
  const path = isHosted ? image : `docker.io/${parts.length > 1 ? "" : "library/"}${image}`;
  return path.slice(path.lastIndexOf("/")).includes(":") ? path : `${path}:latest`;
}
