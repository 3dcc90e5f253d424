import type { KindRef, KubernetesObject } from "@isochrone/kubernetes";
import { ApiError, type ApiClient } from "./api-client.ts";

interface ResourceInfo {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const GROUPS: Readonly<Record<string, string>> = {
  deployments: "apps/v1",
  replicasets: "apps/v1",
  statefulsets: "apps/v1",
  daemonsets: "apps/v1",
  jobs: "batch/v1",
  leases: "coordination.k8s.io/v1",
};

export class Resources {
  readonly #api: ApiClient;
  readonly #known = new Map<string, ResourceInfo>();

  constructor(api: ApiClient) {
    this.#api = api;
  }

  async pathOf(object: KindRef & { readonly namespace?: string; readonly name: string }): Promise<string> {
    const collection = await this.collectionOf(object, object.namespace);
    return `${collection}/${object.name}`;
  }

  async collectionOf(kind: KindRef, namespace: string | undefined): Promise<string> {
    const { name, namespaced } = await this.#info(kind);
    return `${groupPath(kind.apiVersion)}${namespaced ? namespacePath(namespace) : ""}/${name}`;
  }

  /** Path to post an object to. The default namespace is "default". */
  async postPathOf(object: KubernetesObject): Promise<string> {
    return this.collectionOf(object, object.metadata.namespace ?? "default");
  }

  async #info({ apiVersion, kind }: KindRef): Promise<ResourceInfo> {
    const key = `${apiVersion} ${kind}`;
    if (!this.#known.has(key)) await this.#discover(apiVersion);
    const info = this.#known.get(key);
    if (info === undefined) throw new Error(`the API server has no kind ${kind} in ${apiVersion}`);
    return info;
  }

  async #discover(apiVersion: string): Promise<void> {
    try {
      const path = groupPath(apiVersion);
      const { resources } = await this.#api.request<{ resources: ResourceInfo[] }>("GET", path);
      for (const info of resources)
        if (!info.name.includes("/")) this.#known.set(`${apiVersion} ${info.kind}`, info);
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 404)) throw error;
    }
  }
}

/** Returns a path unchanged. Expands "pods" or "deployments" to their path, in one namespace or all. */
export function pathOfResource(resource: string, namespace: string | undefined): string {
  if (resource.startsWith("/")) return resource;
  const clusterScoped = resource === "nodes" || resource === "namespaces";
  return `${groupPath(GROUPS[resource] ?? "v1")}${clusterScoped ? "" : namespacePath(namespace)}/${resource}`;
}

function groupPath(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

function namespacePath(namespace: string | undefined): string {
  return namespace === undefined ? "" : `/namespaces/${namespace}`;
}
