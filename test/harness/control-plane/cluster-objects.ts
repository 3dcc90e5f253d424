import type { KindRef, KubernetesObject, ObjectRef } from "@isochrone/kubernetes";
import { parseAllDocuments } from "yaml";
import { ApiError, type ApiClient, type RequestSettings } from "./api-client.ts";
import {
  isReady,
  nodeObject,
  podObject,
  workloadObject,
  type NodeOptions,
  type PodOptions,
  type WorkloadOptions,
} from "./objects.ts";
import { pathOfResource, Resources } from "./resources.ts";
import { waitFor } from "./wait.ts";

interface WaitOptions {
  /** @default all */
  readonly namespace?: string;
  /** A label selector, such as app=web. */
  readonly labels?: string;
  /** @default 60,000 */
  readonly timeoutMs?: number;
}

const AT_ONCE = 16;
const WAIT_MS = 60_000;
const READY_WITHIN_MS = 60_000;
const READY_WITHIN_MS_PER_NODE = 30;

export class ClusterObjects {
  protected readonly api: ApiClient;
  readonly #resources: Resources;
  readonly #hasKwok: boolean;

  protected constructor(api: ApiClient, hasKwok: boolean) {
    this.api = api;
    this.#resources = new Resources(api);
    this.#hasKwok = hasKwok;
  }

  request<T = KubernetesObject>(
    method: string,
    path: string,
    body?: unknown,
    settings?: RequestSettings | string,
  ): Promise<T> {
    return this.api.request<T>(method, path, body, settings);
  }

  /** Creates objects in order, and waits until namespaces and definitions are in effect. */
  async create(objects: KubernetesObject | readonly KubernetesObject[]): Promise<KubernetesObject[]> {
    const created: KubernetesObject[] = [];
    for (const object of Array.isArray(objects) ? objects : [objects]) {
      const path = await this.#resources.postPathOf(object);
      created.push(await this.request("POST", path, object));
      if (object.kind === "CustomResourceDefinition") await this.#established(object.metadata.name);
    }
    return created;
  }

  createYaml(text: string): Promise<KubernetesObject[]> {
    const documents = parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject | null);
    return this.create(documents.filter((object) => object !== null));
  }

  /** Returns null if the object does not exist. */
  async get(ref: ObjectRef): Promise<KubernetesObject | null> {
    const path = await this.#resources.pathOf(ref);
    return this.request("GET", path).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 404) return null;
      throw error;
    });
  }

  /** @param resource "pods", "nodes", "deployments", ..., a path, or a kind */
  async list(
    resource: string | KindRef,
    { namespace, labels }: Pick<WaitOptions, "namespace" | "labels"> = {},
  ): Promise<KubernetesObject[]> {
    const path = await this.#collection(resource, namespace);
    const query = labels === undefined ? "" : `?labelSelector=${encodeURIComponent(labels)}`;
    const { items } = await this.request<{ items: KubernetesObject[] }>("GET", `${path}${query}`);
    return items;
  }

  async patch(ref: ObjectRef, patch: object, subresource?: string): Promise<KubernetesObject> {
    const path = await this.#resources.pathOf(ref);
    return this.request("PATCH", subresource === undefined ? path : `${path}/${subresource}`, patch);
  }

  /** Deletes without a grace period. */
  async remove(ref: ObjectRef): Promise<void> {
    await this.request("DELETE", `${await this.#resources.pathOf(ref)}?gracePeriodSeconds=0`);
  }

  /** Waits for a value from `check`; errors count as not yet. @throws Error with the last state seen */
  async waitFor<T>(
    resource: string | KindRef,
    check: (objects: readonly KubernetesObject[]) => T | null | undefined | false,
    { namespace, labels, timeoutMs = WAIT_MS }: WaitOptions = {},
  ): Promise<T> {
    const path = await this.#collection(resource, namespace);
    return waitFor(this.api, { path, labels, check, timeoutMs });
  }

  /** Waits for the default service account if a controller creates it. Accepts an existing namespace. */
  async createNamespace(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.createUnlessThere({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
  }

  /** Creates Ready nodes in order, managed by KWOK if it runs. @param nodes count, or options per node */
  async addNodes(
    nodes: number | readonly NodeOptions[],
    each: (index: number) => NodeOptions = () => ({}),
  ): Promise<KubernetesObject[]> {
    const options = typeof nodes === "number" ? Array.from({ length: nodes }, (_, i) => each(i)) : nodes;
    const objects = options.map((one, i) => nodeObject({ name: `node-${i}`, ...one }, !this.#hasKwok));
    await inParallel(objects, (object) => this.request("POST", "/api/v1/nodes", object));
    return this.waitFor(
      "nodes",
      (all) => {
        const ready = new Map(all.filter(isReady).map((node) => [node.metadata.name, node]));
        const added = objects.map(({ metadata }) => ready.get(metadata.name));
        return added.every((node) => node !== undefined) && added;
      },
      { timeoutMs: READY_WITHIN_MS + objects.length * READY_WITHIN_MS_PER_NODE },
    );
  }

  /** Does not wait for the pods to run. @param pods count (pod-0, ...) or names */
  createPods(
    pods: number | readonly string[],
    options: PodOptions | ((index: number) => PodOptions) = {},
  ): Promise<KubernetesObject[]> {
    const names = typeof pods === "number" ? Array.from({ length: pods }, (_, i) => `pod-${i}`) : pods;
    const objects = names.map((name, i) =>
      podObject(name, typeof options === "function" ? options(i) : options),
    );
    return inParallel(objects, (object) =>
      this.request("POST", pathOfResource("pods", object.metadata.namespace), object),
    );
  }

  /** Pods have the label app=NAME. Needs the controller-manager to create them. */
  async createWorkload(name: string, options: WorkloadOptions = {}): Promise<KubernetesObject> {
    const [created] = await this.create(workloadObject(name, options));
    return created!;
  }

  /** Stands in for scheduler and kubelet where neither runs. Returns the running pod. */
  async bindAndRun(
    pod: { readonly namespace?: string; readonly name: string },
    nodeName: string,
  ): Promise<KubernetesObject> {
    const path = `${pathOfResource("pods", pod.namespace ?? "default")}/${pod.name}`;
    const target = { apiVersion: "v1", kind: "Node", name: nodeName };
    const metadata = { name: pod.name };
    await this.request("POST", `${path}/binding`, { apiVersion: "v1", kind: "Binding", metadata, target });
    const ready = ["Initialized", "ContainersReady", "Ready"].map((type) => ({ type, status: "True" }));
    const status = { phase: "Running", conditions: [...ready, { type: "PodScheduled", status: "True" }] };
    return this.request("PATCH", `${path}/status`, { status });
  }

  protected async createUnlessThere(object: KubernetesObject): Promise<void> {
    await this.create(object).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.code === 409)) throw error;
    });
  }

  async #collection(resource: string | KindRef, namespace: string | undefined): Promise<string> {
    return typeof resource === "string"
      ? pathOfResource(resource, namespace)
      : this.#resources.collectionOf(resource, namespace);
  }

  #established(name: string): Promise<boolean> {
    return this.waitFor(
      { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
      (all) => {
        const conditions = all.find(({ metadata }) => metadata.name === name)?.status?.["conditions"];
        return (conditions as { type: string; status: string }[] | undefined)?.some(
          ({ type, status }) => type === "Established" && status === "True",
        );
      },
    );
  }
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
