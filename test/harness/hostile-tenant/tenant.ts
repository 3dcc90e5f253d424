// A user with all permissions in one namespace and none elsewhere.
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { TestAuthority } from "@isochrone/runtime/testing";
import { AUDIENCE } from "../components/index.ts";
import { nodeNameOf, type ApiClient } from "../control-plane/index.ts";
import { NODES, TENANT, type HostileTestbed } from "./testbed.ts";
import { answerOf, until } from "./picture.ts";

const ACCOUNT = { namespace: TENANT, name: "tenant" };
const COLLECTIONS: Readonly<Record<string, string>> = {
  AppGroup: "appgroups",
  ConfigMap: "configmaps",
  DaemonSet: "daemonsets",
  Deployment: "deployments",
  EndpointSlice: "endpointslices",
  Lease: "leases",
  NetworkTopology: "networktopologies",
  Pod: "pods",
  PodDisruptionBudget: "poddisruptionbudgets",
  ReplicaSet: "replicasets",
  ResourceQuota: "resourcequotas",
  Secret: "secrets",
  Service: "services",
  ServiceAccount: "serviceaccounts",
  StatefulSet: "statefulsets",
};

export class Tenant {
  readonly #testbed: HostileTestbed;
  readonly #client: ApiClient;
  readonly #servers: Server[] = [];
  #markers = 0;

  private constructor(testbed: HostileTestbed, client: ApiClient) {
    this.#testbed = testbed;
    this.#client = client;
  }

  static async open(testbed: HostileTestbed): Promise<Tenant> {
    const identity = { serviceAccount: ACCOUNT };
    await testbed.cluster.createNamespace(TENANT);
    const client = await testbed.cluster.clientOf(identity);
    await testbed.cluster.grant(identity, [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }], TENANT);
    return new Tenant(testbed, client);
  }

  async close(): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      server.close();
    }
  }

  async ask(method: string, path: string, body?: unknown): Promise<number> {
    return (await this.#client.answer(method, path, body)).code;
  }

  async make(object: KubernetesObject): Promise<number> {
    return this.ask("POST", this.pathOf(object.apiVersion, object.kind), {
      ...object,
      metadata: { ...object.metadata, namespace: TENANT },
    });
  }

  async makeAll(objects: readonly KubernetesObject[]): Promise<number[]> {
    const codes: number[] = [];
    for (const object of objects) codes.push(await this.make(object));
    return [...new Set(codes)];
  }

  pathOf(apiVersion: string, kind: string): string {
    const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    return `${root}/namespaces/${TENANT}/${COLLECTIONS[kind]!}`;
  }

  /** Creates a pod that runs on a node. @param page port of a page that it claims to serve */
  async runningPod(pod: KubernetesObject, page: number | null = null): Promise<KubernetesObject> {
    const code = await this.make(pod);
    if (code !== 201) throw new Error(`the tenant's pod ${pod.metadata.name} is refused: ${code}`);
    const path = `${this.pathOf("v1", "Pod")}/${pod.metadata.name}`;
    let found: KubernetesObject | null = null;
    await until(`${pod.metadata.name} runs`, async () => {
      found = await this.#client.request<KubernetesObject>("GET", path);
      return nodeNameOf(found) !== null && found.status?.["phase"] === "Running";
    });
    if (page !== null) {
      // The tenant may write the status of its pods, and so the address that collectors use.
      const status = { podIP: "127.0.0.1", podIPs: [{ ip: "127.0.0.1" }] };
      await this.#client.request("PATCH", `${path}/status`, { status });
    }
    return found!;
  }

  async token(account = ACCOUNT.name, pod: KubernetesObject | null = null): Promise<string> {
    const path = `${this.pathOf("v1", "ServiceAccount")}/${account}/token`;
    const boundObjectRef =
      pod === null
        ? {}
        : {
            boundObjectRef: {
              apiVersion: "v1",
              kind: "Pod",
              name: pod.metadata.name,
              uid: pod.metadata.uid,
            },
          };
    const answer = await this.#client.request<{ status: { token: string } }>("POST", path, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { audiences: [AUDIENCE], expirationSeconds: 3_600, ...boundObjectRef },
    });
    return answer.status.token;
  }

  async atAggregator(
    method: string,
    path: string,
    token: string | null,
    headers: Readonly<Record<string, string>> = {},
    body?: Uint8Array | string,
  ): Promise<number> {
    return this.#testbed.aggregatorStatus(method, path, {
      headers: { ...headers, ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      ...(body === undefined ? {} : { body }),
    });
  }

  async atExtender(path: string, body: unknown, as: "nobody" | "stranger"): Promise<number> {
    const { ca } = this.#testbed.kubeScheduler;
    const pair = as === "nobody" ? {} : await this.#certificate();
    return (await answerOf(`${this.#testbed.plugin.url}${path}`, { ca, ...pair }, "POST", body)).status;
  }

  /** The webhook needs no client certificate, because it writes nothing. */
  async atWebhook(path: string, review: unknown): Promise<number> {
    const { webhookUrl } = this.#testbed;
    const files = { ca: await this.#testbed.webhookCa() };
    return (await answerOf(`${webhookUrl}${path}`, files, "POST", review)).status;
  }

  async serve(page: () => string): Promise<{ readonly port: number; readonly asked: () => number }> {
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(page());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    this.#servers.push(server);
    return { port: (server.address() as AddressInfo).port, asked: () => asked };
  }

  /** A graph with this unscheduled pod contains everything created before it. Returns its name. */
  async mark(): Promise<string> {
    const name = `marker-${++this.#markers}`;
    const code = await this.make({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { app: "marker", "isochrone.dev/workflow": "markers" } },
      spec: { schedulerName: "nobody", containers: [{ name: "main", image: "none" }] },
    });
    if (code !== 201) throw new Error(`the marker ${name} is refused: ${code}`);
    return name;
  }

  async #certificate(): Promise<{ cert: string; key: string }> {
    const authority = await TestAuthority.create(this.#testbed.installation.folder, "tenant-ca");
    const { certFile, keyFile } = await authority.issue("isochrone-kube-scheduler-client");
    return { cert: await readFile(certFile, "utf8"), key: await readFile(keyFile, "utf8") };
  }
}

/** Builds a pod of the tenant. @param node required node; null: any */
export function tenantPod(
  name: string,
  more: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly spec?: Readonly<Record<string, unknown>>;
    readonly container?: Readonly<Record<string, unknown>>;
    readonly node?: string | null;
  } = {},
): KubernetesObject {
  const { labels = {}, annotations = {}, spec = {}, container = {}, node = NODES[0] } = more;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: TENANT, labels: { ...labels }, annotations: { ...annotations } },
    spec: {
      containers: [{ name: "main", image: "none", ...container }],
      ...(node === null ? {} : { nodeSelector: { "kubernetes.io/hostname": node } }),
      ...spec,
    },
  };
}
