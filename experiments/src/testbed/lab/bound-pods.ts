import { KINDS, podView } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { systemClock } from "@isochrone/runtime";
import type { Placement } from "../../contenders/port.ts";
import type { PointNode } from "../../scenario/model.ts";
import { podName } from "../model/plan.ts";

interface Template {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: Record<string, unknown>;
}

const NAMESPACE = "default";
const POLL_MS = 20;
const READY_WITHIN_MS = 30_000;

/** Binds the lab's pods to their nodes, without scheduler. A move renames the pod; `nameOf` maps back. */
export class BoundPods {
  readonly #store: ClusterStore;
  readonly #names = new Map<string, string>();
  readonly #current = new Map<string, string>();
  #made = 0;

  constructor(store: ClusterStore) {
    this.#store = store;
  }

  async createNodes(nodes: readonly PointNode[]): Promise<void> {
    for (const node of nodes) await this.#store.create(nodeObject(node));
  }

  async create(
    workloads: readonly { name: string; replicas: number }[],
    placement: Placement,
  ): Promise<void> {
    for (const { name, replicas } of workloads)
      for (let index = 0; index < replicas; index++) {
        const pod = podName(name, index);
        await this.#bind(pod, placement.get(pod)!);
      }
  }

  nameOf(pod: string): string | undefined {
    return this.#names.get(pod);
  }

  async move(pod: string, to: string, signal: AbortSignal): Promise<void> {
    await this.remove(pod, {});
    const successor = await this.#bind(pod, to);
    const deadlineMs = systemClock.monotonic() + READY_WITHIN_MS;
    while (systemClock.monotonic() < deadlineMs) {
      const found = await this.#store.get({ ...KINDS.pod, namespace: NAMESPACE, name: successor });
      if (found !== null && podView(found).ready) return;
      await systemClock.sleep(POLL_MS, signal);
    }
    throw new Error(`the successor of ${pod} must be ready within ${READY_WITHIN_MS} ms and was not`);
  }

  /** @param grace 0: delete at once, since no kubelet can stop the pod */
  async remove(pod: string, grace: { readonly gracePeriodSeconds?: number }): Promise<void> {
    const current = this.#current.get(pod);
    if (current === undefined) return;
    this.#current.delete(pod);
    await this.#store.delete({ ...KINDS.pod, namespace: NAMESPACE, name: current }, grace);
  }

  async #bind(pod: string, node: string): Promise<string> {
    const workload = pod.slice(0, pod.lastIndexOf("-"));
    const owner = await this.#store.get({ ...KINDS.deployment, namespace: NAMESPACE, name: workload });
    const name = `${pod}-${++this.#made}`;
    this.#names.set(name, pod);
    this.#current.set(pod, name);
    await this.#store.create(podObject(name, node, owner!));
    return name;
  }
}

function podObject(name: string, node: string, owner: KubernetesObject): KubernetesObject {
  const { metadata, spec } = structuredClone((owner.spec as unknown as { template: Template }).template);
  const { apiVersion, kind } = owner;
  const reference = {
    apiVersion,
    kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid!,
    controller: true,
  };
  return {
    ...KINDS.pod,
    metadata: { ...metadata, name, namespace: NAMESPACE, ownerReferences: [reference] },
    spec: { ...spec, nodeName: node },
    status: { phase: "Pending" },
  };
}

function nodeObject({ name, zone, region, cpuMillicores, memoryBytes }: PointNode): KubernetesObject {
  const resources = { cpu: `${cpuMillicores}m`, memory: String(memoryBytes), pods: "250" };
  return {
    ...KINDS.node,
    metadata: {
      name,
      labels: { "topology.kubernetes.io/region": region, "topology.kubernetes.io/zone": zone },
    },
    spec: {},
    status: {
      capacity: resources,
      allocatable: resources,
      conditions: [{ type: "Ready", status: "True" }],
    },
  };
}
