// An installation with the chart's values and the namespaces of a victim and a tenant. KWOK marks the chart's
// pods as running; aggregator, scheduler-plugin and one collector run here. Unlike the chart's, addresses are
// on loopback and the aggregator shows no decisions.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { authorizedFetch, systemClock } from "@isochrone/runtime";
import { run } from "../common/commands.ts";
import {
  AUDIENCE,
  Installation,
  MANIFEST_VALUES,
  type ComponentProcess,
  type ComponentSettings,
} from "../components/index.ts";
import { nodeNameOf, startControlPlane, type ControlPlane } from "../control-plane/index.ts";
import { BASE_CONFIG, COMMAND } from "../extender.ts";
import { CHART, Helm, settingsOf } from "../helm/index.ts";

export const COMPONENTS = ["controller-manager", "scheduler", "kwok"] as const;
export const VICTIM = "shop";
export const TENANT = "evil";
export const WORKFLOW = "flow";
/** The tenant's pods run on the first node and try to attract the victim's. */
export const NODES = ["node-0", "node-1", "node-2"] as const;
const { NAMESPACE, NAME } = MANIFEST_VALUES;
const PLUGIN = `${NAME}-scheduler-plugin`;
const WORKFLOW_LABELS = { "isochrone.dev/workflow": WORKFLOW };
const DEPENDENCIES = "isochrone.dev/dependencies";
const PLANNED = 2;
/** Enables everything that writes or moves, with short intervals. */
const VALUES = {
  settings: {
    aggregator: { windowMs: 60_000, paneMs: 2_000, buildIntervalMs: 500, counterLagMs: 0 },
    webhook: { enabled: true },
    planner: { enabled: true, proposalsIntervalMs: 2_000 },
    descheduler: { mode: "dry-run", intervalMs: 2_000 },
  },
};

interface RequestInitLike {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

/** kube-scheduler's client certificate. */
export interface ClientFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export class HostileTestbed {
  readonly cluster: ControlPlane;
  readonly installation: Installation;
  readonly #helm: Helm;
  aggregator!: ComponentProcess;
  plugin!: ComponentProcess;
  collector!: ComponentProcess;
  webhookUrl = "";
  kubeScheduler!: ClientFiles;

  private constructor(cluster: ControlPlane, helm: Helm) {
    this.cluster = cluster;
    this.#helm = helm;
    this.installation = new Installation(cluster);
  }

  static async start(): Promise<HostileTestbed> {
    const helm = await Helm.open();
    const cluster = await startControlPlane({ components: COMPONENTS });
    const testbed = new HostileTestbed(cluster, helm);
    try {
      await testbed.#install();
    } catch (error) {
      await testbed.close();
      throw error;
    }
    return testbed;
  }

  async close(): Promise<void> {
    await this.installation.close();
    await this.cluster.close();
    await this.#helm.close();
  }

  async podToken(component: string, node: string): Promise<string> {
    const labels = `app.kubernetes.io/component=${component}`;
    const pod = (await this.cluster.list("pods", { namespace: NAMESPACE, labels })).find(
      (each) => nodeNameOf(each) === node,
    );
    if (pod === undefined) throw new Error(`no pod of ${component} on ${node}`);
    const { name, uid } = pod.metadata;
    const account = { namespace: NAMESPACE, name: `${NAME}-${component}` };
    const options = { audiences: [AUDIENCE], pod: { name, uid: uid! } };
    return (await this.cluster.serviceAccountToken(account, options)).token;
  }

  async aggregatorStatus(method: string, path: string, init: RequestInitLike): Promise<number> {
    const ca = await this.trustedCa();
    const ask = authorizedFetch({ ca: () => ca, clock: systemClock });
    const response = await ask(this.aggregator.url + path, { method, ...init });
    await response.body?.cancel();
    return response.status;
  }

  async webhookCa(): Promise<string> {
    const ref = { ...KINDS.mutatingWebhookConfiguration, name: "isochrone-placement" };
    const found = await this.cluster.get(ref);
    const webhooks = (found?.["webhooks"] ?? []) as { clientConfig: { caBundle: string } }[];
    return Buffer.from(webhooks[0]!.clientConfig.caBundle, "base64").toString();
  }

  async trustedCa(): Promise<string> {
    const name = MANIFEST_VALUES.TRUST_CONFIG_MAP;
    return (await this.#data({ ...KINDS.configMap, namespace: NAMESPACE, name }))["ca.crt"]!;
  }

  async readerToken(): Promise<string> {
    const account = { namespace: NAMESPACE, name: "reader" };
    const { token } = await this.cluster.serviceAccountToken(account, { audiences: [AUDIENCE] });
    const group = "rbac.authorization.k8s.io";
    await this.cluster.create({
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: "reader" },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: `${NAME}-graph-reader` },
      subjects: [{ kind: "ServiceAccount", ...account }],
    });
    return token;
  }

  async #install(): Promise<void> {
    const { cluster } = this;
    await cluster.createNamespace(NAMESPACE, { "pod-security.kubernetes.io/enforce": "restricted" });
    await cluster.addNodes(NODES.map((name, index) => ({ name, zone: `z${index}`, cpu: "8" })));
    const port = await this.installation.port();
    this.webhookUrl = `https://127.0.0.1:${port}`;
    const webhook = { ...VALUES.settings.webhook, url: this.webhookUrl };
    const values = { settings: { ...VALUES.settings, webhook } };
    const args = ["install", NAME, CHART, "--values", this.#helm.valuesFile(values), "--timeout", "120s"];
    const { code, stderr } = await this.#helm.run([...args, "--namespace", NAMESPACE], cluster.kubeconfig);
    if (code !== 0) throw new Error(`helm install ends with ${code}: ${stderr}`);
    await cluster.waitFor("pods", (pods) => pods.filter(isOnEveryNode).length === 2 * NODES.length, {
      namespace: NAMESPACE,
    });
    const objects = await this.#helm.template(values);
    await this.#startAggregator(settingsOf(objects, "aggregator") as ComponentSettings);
    await this.#startPlugin(settingsOf(objects, "scheduler-plugin") as ComponentSettings, port);
    await this.#configureScheduler();
    await this.#startCollector(settingsOf(objects, "collector") as ComponentSettings);
    await this.#addVictim();
  }

  async #startAggregator(settings: ComponentSettings): Promise<void> {
    const { host: _host, port: _port, ...rest } = settings["aggregator"]!;
    const own = Object.fromEntries(Object.entries(rest).filter(([key]) => !key.startsWith("decisions")));
    const name = `${NAME}-aggregator-0`;
    this.aggregator = await this.installation.component("aggregator", name, { ...settings, aggregator: own });
    await this.aggregator.start();
  }

  async #startPlugin(settings: ComponentSettings, port: number): Promise<void> {
    const { host: _host, port: _port, ...own } = settings["scheduler"]!;
    const scheduler = {
      ...own,
      graphUrl: this.aggregator.url,
      graphCaFile: await this.installation.caFile(),
      graphTokenFile: await this.installation.tokenFile("scheduler-plugin"),
      replicaName: `${PLUGIN}-0`,
    };
    const webhook = { enabled: true, host: "127.0.0.1", port, url: this.webhookUrl };
    this.plugin = await this.installation.component("scheduler-plugin", `${PLUGIN}-0`, {
      ...settings,
      scheduler,
      webhook,
    });
    await this.plugin.start();
    const secret = await this.#data({
      ...KINDS.secret,
      namespace: NAMESPACE,
      name: `${PLUGIN}-kube-scheduler`,
    });
    const pem = (key: string): string => Buffer.from(secret[key]!, "base64").toString();
    const trusted = await this.#data({ ...KINDS.configMap, namespace: NAMESPACE, name: `${PLUGIN}-ca` });
    this.kubeScheduler = { ca: trusted["ca.crt"]!, cert: pem("tls.crt"), key: pem("tls.key") };
  }

  async #data(ref: Parameters<ControlPlane["get"]>[0]): Promise<Readonly<Record<string, string>>> {
    return ((await this.cluster.get(ref))?.["data"] ?? {}) as Readonly<Record<string, string>>;
  }

  /** Follows the documentation. There is no Service network here, so the address is on loopback. */
  async #configureScheduler(): Promise<void> {
    const file = join(this.installation.folder, "scheduler.yaml");
    writeFileSync(file, BASE_CONFIG);
    const client = join(this.installation.folder, "client");
    const args = [COMMAND, "scheduler-config", file, "--service", `${NAMESPACE}/${PLUGIN}`];
    const more = ["--kubeconfig", this.cluster.kubeconfig, "--client-folder", client];
    const config = await run(process.execPath, [...args, ...more], { timeoutMs: 30_000 });
    await this.cluster.restartScheduler(
      config.replace(/urlPrefix: https:\/\/[^/]+\//, `urlPrefix: ${this.plugin.url}/`),
    );
  }

  async #startCollector(settings: ComponentSettings): Promise<void> {
    const { host: _host, port: _port, ...own } = settings["collector"]!;
    const tokenFile = join(this.installation.folder, "token-collector-pod");
    writeFileSync(tokenFile, await this.podToken("collector", NODES[0]), { mode: 0o600 });
    this.collector = await this.installation.component("collector", "collector-0", {
      ...settings,
      collector: {
        ...own,
        node: NODES[0],
        intervalMs: 500,
        timeoutMs: 400,
        nodeAddress: "127.0.0.1",
        // An unused port, because kubelet data is not needed here.
        kubeletPort: await this.installation.port(),
        aggregatorUrl: this.aggregator.url,
        aggregatorCaFile: await this.installation.caFile(),
        aggregatorTokenFile: tokenFile,
      },
    });
    await this.collector.start();
  }

  /** `web` calls `db`. A new pod of `api` calls both and waits. `worker` was planned as a whole. */
  async #addVictim(): Promise<void> {
    const { cluster } = this;
    await cluster.createNamespace(VICTIM);
    const needsDb = { [DEPENDENCIES]: JSON.stringify([{ name: "db", maxNetworkCost: 20 }, { name: "web" }]) };
    const place = (node: string) => ({ nodeSelector: { "kubernetes.io/hostname": node } });
    const common = { namespace: VICTIM, labels: WORKFLOW_LABELS };
    await cluster.createWorkload("web", { ...common, spec: place(NODES[1]) });
    await cluster.createWorkload("db", { ...common, spec: place(NODES[2]) });
    // No scheduler serves it, because the test itself asks the extender about it.
    await cluster.createWorkload("api", {
      ...common,
      workloadAnnotations: needsDb,
      spec: { schedulerName: "nobody" },
    });
    await cluster.waitFor("pods", (pods) => pods.filter(nodeNameOf).length === 2 && pods.length === 3, {
      namespace: VICTIM,
    });
  }

  async planned(name: string): Promise<string[]> {
    await this.cluster.createWorkload(name, {
      namespace: VICTIM,
      labels: WORKFLOW_LABELS,
      workloadAnnotations: { [DEPENDENCIES]: JSON.stringify([{ name: "db", maxNetworkCost: 20 }]) },
      schedulingGates: [MANIFEST_VALUES.GATE],
      replicas: PLANNED,
    });
    return this.placesOf(name, []);
  }

  placesOf(name: string, previous: readonly string[]): Promise<string[]> {
    return this.cluster.waitFor(
      "pods",
      (pods: readonly KubernetesObject[]) => {
        const nodes = pods
          .filter(({ metadata }) => !previous.includes(metadata.name))
          .map(nodeNameOf)
          .filter((node) => node !== null);
        return nodes.length === PLANNED && pods.length === PLANNED ? nodes.sort() : null;
      },
      { namespace: VICTIM, labels: `app=${name}` },
    );
  }

  /** Scales to zero and back, so that the planner places all pods at once. */
  async plannedAnew(name: string): Promise<string[]> {
    const ref = { ...KINDS.deployment, namespace: VICTIM, name };
    const listed = () => this.cluster.list("pods", { namespace: VICTIM, labels: `app=${name}` });
    const names = (await listed()).map(({ metadata }) => metadata.name);
    await this.cluster.patch(ref, { spec: { replicas: 0 } });
    await this.cluster.waitFor("pods", (all) => (all.some(isOf(name)) ? null : true), {
      namespace: VICTIM,
      timeoutMs: 60_000,
    });
    await this.cluster.patch(ref, { spec: { replicas: names.length } });
    return this.placesOf(name, names);
  }
}

function isOf(app: string): (pod: KubernetesObject) => boolean {
  return ({ metadata }) => metadata.labels?.["app"] === app;
}

function isOnEveryNode({ metadata, status }: KubernetesObject): boolean {
  const component = metadata.labels?.["app.kubernetes.io/component"];
  return (component === "probe" || component === "collector") && status?.["phase"] === "Running";
}
