import type { KubernetesObject } from "@isochrone/kubernetes";
import { NAMESPACES } from "./shared.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterObjects } from "@isochrone/placement/testing";
import { nodeNameOf, type ControlPlane } from "../../harness/control-plane/index.ts";
import { PROBE_LABEL, type GeneratedCluster } from "./cases.ts";
import type { Finding, Judge } from "./judge.ts";

const CSI_NODES = "/apis/storage.k8s.io/v1/csinodes";
const AT_ONCE = 12;
const POLL_MS = 10;
const NOW = { gracePeriodSeconds: 0, propagationPolicy: "Background" };

export interface Asked {
  readonly pod: KubernetesObject;
  readonly finding: Finding;
}

export class Testbed {
  readonly #plane: ControlPlane;
  readonly #judge: Judge;

  constructor(plane: ControlPlane, judge: Judge) {
    this.#plane = plane;
    this.#judge = judge;
  }

  /** Creates the cluster. Resolves when kube-scheduler knows it. */
  async build({ nodes, csiNodes, placed, nominated }: GeneratedCluster): Promise<void> {
    await inParallel(csiNodes, (node) => this.#plane.request("POST", CSI_NODES, node));
    await inParallel(nodes, (node) => this.#plane.request("POST", "/api/v1/nodes", node));
    await inParallel(placed, async ({ pod, status, terminating }) => {
      await this.create(pod);
      if (status !== null) await this.#plane.request("PATCH", `${pathOf(pod)}/status`, { status });
      if (terminating) await this.#plane.request("DELETE", pathOf(pod));
    });
    await inParallel(nominated, async ({ pod, node }) => {
      await this.create(pod);
      const status = { nominatedNodeName: node };
      await this.#plane.request("PATCH", `${pathOf(pod)}/status`, { status });
    });
    await this.#untilKnown(nodes.length);
  }

  create(pod: KubernetesObject): Promise<KubernetesObject> {
    return this.#plane.request("POST", `/api/v1/namespaces/${pod.metadata.namespace}/pods`, pod);
  }

  /** Creates all pods at once, because none is bound. */
  async ask(pods: readonly KubernetesObject[], label: string): Promise<Asked[]> {
    const created = await inParallel(pods, (pod) => this.create(pod));
    const findings = await this.#plane.waitFor(
      "pods",
      (all) => {
        const byUid = new Map(all.map((pod) => [pod.metadata.uid, this.#judge.finding(pod)]));
        const found = created.map((pod) => byUid.get(pod.metadata.uid) ?? null);
        return found.includes(null) ? null : (found as Finding[]);
      },
      { labels: `${PROBE_LABEL}=${label}`, timeoutMs: 120_000 },
    );
    return created.map((pod, index) => ({ pod, finding: findings[index]! }));
  }

  /** Nominates the pod without releasing it, like a landing plan. */
  async nominate(pod: KubernetesObject, node: string): Promise<void> {
    await this.#plane.request("PATCH", `${pathOf(pod)}/status`, { status: { nominatedNodeName: node } });
  }

  /** Opens a pod's gate and returns its node. Returns null if kube-scheduler rejects all allowed nodes. */
  async release(pod: KubernetesObject): Promise<string | null> {
    await this.#plane.request("PATCH", pathOf(pod), { spec: { schedulingGates: [] } });
    for (;;) {
      const now = await this.#plane.request("GET", pathOf(pod));
      if (nodeNameOf(now) !== null) return nodeNameOf(now);
      if (this.#judge.finding(now) !== null) return null;
      await sleep(POLL_MS);
    }
  }

  async objects(): Promise<ClusterObjects & { readonly pods: readonly KubernetesObject[] }> {
    const [nodes, pods, namespaces, persistentVolumes, persistentVolumeClaims, csiNodes] = await Promise.all([
      this.#plane.list("nodes"),
      this.#plane.list("pods"),
      this.#plane.list("namespaces"),
      this.#plane.list("/api/v1/persistentvolumes"),
      this.#plane.list("persistentvolumeclaims"),
      this.#plane.list(CSI_NODES),
    ]);
    return { nodes, pods, namespaces, persistentVolumes, persistentVolumeClaims, csiNodes };
  }

  async removePods(label = ""): Promise<void> {
    const query = label === "" ? "" : `?labelSelector=${PROBE_LABEL}%3D${label}`;
    await Promise.all(
      Object.keys(NAMESPACES).map((namespace) =>
        this.#plane.request("DELETE", `/api/v1/namespaces/${namespace}/pods${query}`, NOW),
      ),
    );
  }

  async clear(): Promise<void> {
    await this.removePods();
    await this.#plane.request("DELETE", "/api/v1/nodes", NOW);
    await this.#plane.request("DELETE", CSI_NODES, NOW);
  }

  /** kube-scheduler watches nodes and pods separately. Only pods arrive in order. */
  async #untilKnown(nodes: number): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const label = `known-${attempt}`;
      const namespace = Object.keys(NAMESPACES)[0]!;
      const spec = { containers: [{ name: "main", image: "none" }], tolerations: [{ operator: "Exists" }] };
      const metadata = { name: label, namespace, labels: { [PROBE_LABEL]: label } };
      const [asked] = await this.ask([{ apiVersion: "v1", kind: "Pod", metadata, spec }], label);
      await this.removePods(label);
      if (asked!.finding.nodes === nodes) return;
    }
  }
}

function pathOf(pod: KubernetesObject): string {
  return `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`;
}

async function inParallel<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      results[index] = await act(items[index]!);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}
