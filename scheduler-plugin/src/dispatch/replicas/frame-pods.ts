import { keyOf, workloadOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { ResourceAmounts } from "@isochrone/placement";
import { identityOf, isGone } from "../../adapters/observed-pod.ts";
import { yielded } from "../../proposals/cluster-view.ts";
import { isMarked } from "./surplus-pods.ts";
import { nodeOf, workloadKey, type Workload } from "./workload-pods.ts";

/** Pods processed before yielding to the event loop. */
const SLICE = 2_000;

export class FramePods {
  readonly #pods = new Map<string, KubernetesObject>();
  readonly #ofWorkload = new Map<string, KubernetesObject[]>();
  readonly #used = new Map<string, ResourceAmounts>();
  readonly marked: KubernetesObject[] = [];

  private constructor() {}

  static async of(
    items: readonly KubernetesObject[],
    namespaces: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<FramePods> {
    const pods = new FramePods();
    for (const [at, pod] of items.entries()) {
      if (at % SLICE === SLICE - 1) await yielded();
      if (signal.aborted) break;
      if (!isGone(pod)) pods.#take(pod, namespaces);
    }
    return pods;
  }

  get(namespace: string, name: string): KubernetesObject | null {
    return this.#pods.get(`${namespace}/${name}`) ?? null;
  }

  of(workload: Workload): readonly KubernetesObject[] {
    return this.#ofWorkload.get(workloadKey(workload)) ?? [];
  }

  used(node: string): ResourceAmounts {
    return this.#used.get(node) ?? { cpuMillicores: 0, memoryBytes: 0 };
  }

  #take(pod: KubernetesObject, namespaces: ReadonlySet<string>): void {
    const node = nodeOf(pod);
    if (node !== null) {
      const { cpuMillicores, memoryBytes } = identityOf(pod).requests;
      const used = this.used(node);
      this.#used.set(node, {
        cpuMillicores: (used.cpuMillicores ?? 0) + (cpuMillicores ?? 0),
        memoryBytes: (used.memoryBytes ?? 0) + (memoryBytes ?? 0),
      });
    }
    if (isMarked(pod)) this.marked.push(pod);
    if (!namespaces.has(pod.metadata.namespace ?? "default")) return;
    this.#pods.set(keyOf(pod), pod);
    const key = workloadKey(workloadOf(pod));
    const known = this.#ofWorkload.get(key);
    if (known === undefined) this.#ofWorkload.set(key, [pod]);
    else known.push(pod);
  }
}
