import { readFileSync } from "node:fs";
import { KINDS } from "@isochrone/kubernetes";
import { OUR_CRDS } from "../../harness/appgroups.ts";
import { STREAM_CRDS } from "../../harness/streams.ts";
import { installPolicies, MANIFEST_VALUES } from "../../harness/components/index.ts";
import { startControlPlane, type ApiClient, type ControlPlane } from "../../harness/control-plane/index.ts";

const { NAMESPACE, CANARY_NAMESPACE, GATE } = MANIFEST_VALUES;
export const OURS = ["aggregator", "scheduler-plugin", "collector", "probe", "uninstall"] as const;
type Caller = (typeof OURS)[number] | "stranger";

export const NODE = "/api/v1/nodes/node-0";

/** Our accounts and a stranger have all RBAC permissions, so that only the policies can deny. */
export class AdmissionTestbed {
  #cluster: ControlPlane | null = null;
  readonly #clients = new Map<Caller, ApiClient>();

  get cluster(): ControlPlane {
    return this.#cluster!;
  }

  async start(): Promise<void> {
    const cluster = await startControlPlane();
    this.#cluster = cluster;
    for (const file of [...OUR_CRDS, ...STREAM_CRDS]) await cluster.createYaml(readFileSync(file, "utf8"));
    for (const namespace of [NAMESPACE, CANARY_NAMESPACE]) await cluster.createNamespace(namespace);
    for (const name of [...OURS, "stranger"] as const) {
      const identity = { serviceAccount: { namespace: NAMESPACE, name: `isochrone-${name}` } };
      await cluster.grant(identity, [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]);
      this.#clients.set(name, await cluster.clientOf(identity));
    }
    await cluster.addNodes(1, () => ({
      labels: { "example.com/rack": "1" },
      annotations: { "example.com/owner": "them", "isochrone.dev/bandwidth-capacity": "10G" },
    }));
    await cluster.createPods(["pod-0"], { labels: { app: "web" } });
    await cluster.createPods(["gated", "gated-too"], { schedulingGates: [GATE, "example.com/other"] });
    const { spec } = await cluster.createWorkload("web", { replicas: 2 });
    const { selector, template } = spec!;
    await cluster.create({
      ...KINDS.replicaSet,
      metadata: { name: "web-1", namespace: "default" },
      spec: { replicas: 1, selector, template },
    });
    await installPolicies(cluster);
  }

  async close(): Promise<void> {
    await this.#cluster?.close();
  }

  client(caller: Caller): ApiClient {
    return this.#clients.get(caller)!;
  }

  /** Returns "ok", or the code and the API server's message. A list is a JSON patch. */
  async verdict(
    caller: Caller,
    method: string,
    path: string,
    body?: unknown,
    contentType = method === "PATCH" ? patchTypeOf(body) : "application/json",
  ): Promise<string> {
    const { code, text } = await this.client(caller).answer(method, path, body, { contentType });
    return code < 300 ? "ok" : `${code} ${(JSON.parse(text) as { message: string }).message}`;
  }

  /** Returns another text if the request is allowed or not denied by a policy alone. */
  async denialOf(
    caller: Caller,
    [method, path, body]: readonly [method: string, path: string, body?: object],
  ): Promise<string> {
    const dry = `${path}?dryRun=All`;
    const stranger = await this.verdict("stranger", method, dry, body);
    if (stranger !== "ok") return `the stranger is told ${stranger}`;
    const said = await this.verdict(caller, method, dry, body);
    const denial =
      /^403 .*ValidatingAdmissionPolicy '[^']+' with binding '[^']+' denied request: (.*)$/s.exec(said)?.[1];
    return denial ?? `no policy denies it: ${said}`;
  }
}

export function annotate(annotations: Readonly<Record<string, string | null>>): object {
  return { metadata: { annotations } };
}

function patchTypeOf(body: unknown): string {
  return Array.isArray(body) ? "application/json-patch+json" : "application/merge-patch+json";
}
