// Testbed of the permission tests: each service under its account on two nodes.
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { randomInt } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  KINDS,
  LABELS,
  PLACEMENT_GATE,
  type KubernetesObject,
  type ObjectRef,
  type OwnerReference,
} from "@isochrone/kubernetes";
import { CertificateAuthority } from "../harness/common/x509.ts";
import { DESTINATION_RULE_CRD } from "../harness/istio.ts";
import {
  Installation,
  KubeletStandIn,
  MANIFEST_VALUES,
  type ComponentProcess,
  type ComponentSettings,
} from "../harness/components/index.ts";
import { trafficPage, usagePage } from "./rbac-pages.ts";
import { RECORD_KEY_SETTINGS } from "./rbac-record-keys.ts";
import { workloadObject, type ControlPlane } from "../harness/control-plane/index.ts";

export { askForRecordKeys } from "./rbac-record-keys.ts";

const { NAMESPACE, NAME, CANARY_NAMESPACE, NETPERF_NAMESPACE, NETPERF_NAME, KEYS_SECRET } = MANIFEST_VALUES;
export const SHOP = "shop";
export const NODES = ["node-0", "node-1"] as const;
const WORKLOADS = { web: "Deployment", db: "StatefulSet", agent: "DaemonSet" } as const;
type WorkloadName = keyof typeof WORKLOADS;
/** On separate nodes, so that their channel crosses zones. */
const PLACES: Readonly<Record<WorkloadName, string>> = { web: "node-0", db: "node-1", agent: "node-0" };
const WORKFLOW = { "isochrone.dev/workflow": "flow" };
export const DECLARED: ObjectRef = { ...KINDS.appGroup, namespace: SHOP, name: "declared" };
const LEASE_TIMES = { leaseDurationMs: 2500, leaseRenewDeadlineMs: 2000, leaseRetryPeriodMs: 400 };
/** Short enough that CAs rotate during the test. */
const CERTIFICATE_TIMES = {
  certificateCheckMs: 500,
  certificateLifetimeMs: 9_000,
  authorityLifetimeMs: 24_000,
  trustDelayMs: 1_000,
};
/** Nobody binds released pods here, so nominations are withdrawn. */
const PLANNER = {
  enabled: true,
  settleMs: 100,
  maxSettleMs: 500,
  graphWaitMs: 1_000,
  bindTimeoutMs: 1_000,
  deadlineMs: 5_000,
  proposalsIntervalMs: 1_000,
};
const MOUNT_INTERVAL_MS = 250;

export class Testbed {
  readonly cluster: ControlPlane;
  readonly installation: Installation;
  readonly #closers: (() => unknown)[] = [];
  readonly #beganMs = Date.now();
  readonly #addresses = NODES.map(
    (_, index) => `127.${randomInt(10, 250)}.${randomInt(1, 250)}.${10 + index}`,
  );
  #kubeletPort = 0;
  #gated = 0;
  #probePorts: Readonly<Record<string, number>> = {};

  constructor(cluster: ControlPlane) {
    this.cluster = cluster;
    this.installation = new Installation(cluster);
  }

  async close(): Promise<void> {
    await this.installation.close();
    for (const close of this.#closers.toReversed()) await close();
  }

  async prepare(): Promise<void> {
    const { cluster } = this;
    const port = (): Promise<number> => this.installation.port();
    const shared = await port();
    this.#probePorts = { probeUdpPort: shared, probeTcpPort: shared, probeBandwidthPort: await port() };
    await cluster.create(DESTINATION_RULE_CRD);
    await cluster.create({
      ...KINDS.namespace,
      metadata: { name: SHOP, annotations: { "isochrone.dev/appgroup": "observe" } },
    });
    await cluster.addNodes(NODES.length, (index) => ({
      name: NODES[index]!,
      region: `r${index}`,
      zone: `z${index}`,
      annotations: { "isochrone.dev/bandwidth-capacity": "10G" },
    }));
    for (const name of Object.keys(WORKLOADS)) await this.#addWorkload(name as WorkloadName);
    for (const [index, node] of NODES.entries()) await this.#addProbePod(node, this.#addresses[index]!);
    const authority = new CertificateAuthority("kubelets");
    writeFileSync(this.#kubeletCa, authority.certificate);
    const certificate = authority.issue({ commonName: NODES[0], hosts: ["127.0.0.1"] });
    const page = (): string => usagePage(Object.keys(WORKLOADS), SHOP, this.#beganMs);
    const kubelet = await KubeletStandIn.start({ cluster, node: NODES[0], certificate, page });
    this.#closers.push(() => kubelet.close());
    this.#kubeletPort = kubelet.port;
    await cluster.patch(
      { ...KINDS.node, name: NODES[0] },
      {
        status: {
          addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
          daemonEndpoints: { kubeletEndpoint: { Port: kubelet.port } },
        },
      },
      "status",
    );
  }

  async withoutFeatures(): Promise<ComponentProcess[]> {
    const checks = { checkIntervalMs: 500 };
    const aggregator = await this.installation.component("aggregator", "plain-aggregator", {
      aggregator: { windowMs: 30_000, paneMs: 2000, buildIntervalMs: 500 },
      annotations: { nodes: false, warmUpMs: 0 },
      networkTopology: { writer: "upstream", declaredWeights: "none", ...checks },
      appGroups: { observe: false, ...checks },
      bandwidthResource: checks,
      gates: { enabled: false },
    });
    const scheduler = { graphUrl: aggregator.url, podEvents: false, appGroupStatus: "upstream" };
    const collector = {
      node: NODES[0],
      intervalMs: 500,
      timeoutMs: 400,
      nodeAddress: "127.0.0.1",
      kubeletPort: this.#kubeletPort,
      kubeletCaFile: this.#kubeletCa,
      kubeletTokenFile: await this.installation.tokenFile("collector", null),
      aggregatorUrl: aggregator.url,
    };
    return [
      aggregator,
      await this.installation.component("scheduler-plugin", "plain-scheduler-plugin", { scheduler }),
      await this.installation.component("collector", "plain-collector", { collector }),
    ];
  }

  async aggregator(
    replicaName: string,
    more: ComponentSettings = {},
    server?: string,
  ): Promise<ComponentProcess> {
    const tokenFile = await this.installation.tokenFile("aggregator");
    const settings = {
      access: { mode: "kubernetes", cacheMs: 1000 },
      annotations: {
        workloads: true,
        refreshMs: 10_000,
        minIntervalMs: 3000,
        workloadIntervalMs: 3000,
        // After the first writes of node status, because the two must not coincide.
        warmUpMs: 3000,
        netperfConfigMap: `${NETPERF_NAMESPACE}/${NETPERF_NAME}`,
        netperfIntervalMs: 1000,
      },
      networkTopology: { checkIntervalMs: 500, minWriteIntervalMs: 0, latenciesFrom: "default/latencies" },
      appGroups: { checkIntervalMs: 500, windowMs: 3000 },
      bandwidthResource: { advertise: "declared", checkIntervalMs: 500 },
      gates: { deadlineMs: 3_600_000 },
      ...more,
    };
    const own = {
      ...this.#probePorts,
      ...LEASE_TIMES,
      // Short, so that values change enough to be rewritten.
      windowMs: 10_000,
      paneMs: 2000,
      buildIntervalMs: 500,
      counterLagMs: 0,
      istioRouting: true,
      hmacKeysSecret: `${NAMESPACE}/${KEYS_SECRET}`,
      ...RECORD_KEY_SETTINGS,
      keyCheckMs: 300,
      keyRotationMs: 5000,
      bandwidthTestBytes: 65_536,
      bandwidthPairIntervalMs: 1000,
      bandwidthLeaseMs: 1000,
      replicaName,
      replicaTokenFile: tokenFile,
      ...more["aggregator"],
    };
    return this.installation.component("aggregator", replicaName, { ...settings, aggregator: own }, server);
  }

  async schedulerPlugin(replicaName: string, graphUrl: string): Promise<ComponentProcess> {
    const scheduler = {
      ...LEASE_TIMES,
      graphUrl,
      graphTokenFile: await this.installation.tokenFile("scheduler-plugin"),
      replicaName,
      serviceName: `${NAME}-scheduler-plugin`,
      appGroupIntervalMs: 500,
      managedResource: "isochrone.dev/placement",
      canaryNamespace: CANARY_NAMESPACE,
      canaryPeriodMs: 500,
      canaryDeadlineMs: 500,
    };
    const port = await this.installation.port();
    const webhook = {
      enabled: true,
      host: "127.0.0.1",
      port,
      url: `https://127.0.0.1:${port}`,
      ownerClusterRole: `${NAME}-scheduler-plugin-webhook`,
      ...CERTIFICATE_TIMES,
    };
    const settings = { scheduler, webhook, planner: PLANNER };
    return this.installation.component("scheduler-plugin", replicaName, settings);
  }

  async collector(aggregatorUrl: string): Promise<ComponentProcess> {
    const istio = await this.#serve(() => trafficPage(SHOP, this.#beganMs));
    const collector = {
      node: NODES[0],
      intervalMs: 500,
      timeoutMs: 400,
      staticTargets: `istio=${istio}/stats`,
      kubeletCaFile: this.#kubeletCa,
      kubeletTokenFile: await this.installation.tokenFile("collector", null),
      aggregatorUrl,
      aggregatorTokenFile: await this.installation.nodeTokenFile("collector", NODES[0]),
    };
    return this.installation.component("collector", "collector-0", { collector });
  }

  async probe(index: number, aggregatorUrl: string): Promise<ComponentProcess> {
    const { probeUdpPort, probeTcpPort, probeBandwidthPort } = this.#probePorts;
    const probe = {
      node: NODES[index]!,
      bindAddress: this.#addresses[index]!,
      udpPort: probeUdpPort!,
      tcpPort: probeTcpPort!,
      bandwidthPort: probeBandwidthPort!,
      methods: "udp_rr",
      intervalMs: 50,
      timeoutMs: 1000,
      publishIntervalMs: 500,
      planRefreshMs: 500,
      zeroCheckIntervalMs: 0,
      bandwidth: true,
      bandwidthIntervalMs: 1000,
      hmacKeysFile: await this.#mountKeys(),
      aggregatorUrl,
      aggregatorTokenFile: await this.installation.nodeTokenFile("probe", NODES[index]!),
    };
    return this.installation.component("probe", `probe-${index}`, { probe });
  }

  async declare(topologySortingAlgorithm = "KahnSort"): Promise<void> {
    const workload = (name: WorkloadName): object => ({
      kind: WORKLOADS[name],
      name,
      selector: name,
      apiVersion: "apps/v1",
      namespace: SHOP,
    });
    const workloads = [
      { workload: workload("web"), dependencies: [{ workload: workload("db"), minBandwidth: "1M" }] },
      { workload: workload("db") },
    ];
    const { apiVersion, kind, ...metadata } = DECLARED;
    const spec = { numMembers: 2, topologySortingAlgorithm, workloads };
    await this.cluster.create({ apiVersion, kind, metadata, spec });
  }

  /** Creates a pod of `web`, asks the extender about it and binds it. The test plays kube-scheduler. */
  async place(plugin: ComponentProcess, name: string): Promise<void> {
    const pod = await this.#addPod(name, { app: "web", ...WORKFLOW }, []);
    const answer = await fetch(`${plugin.url}/scheduler/prioritize`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ Pod: pod, NodeNames: NODES }),
    });
    if (!answer.ok) throw new Error(`the extender answered ${answer.status}: ${await answer.text()}`);
    await this.cluster.bindAndRun({ namespace: SHOP, name }, NODES[0]);
  }

  async addGatedReplicas(): Promise<void> {
    this.#gated++;
    for (const app of ["web", "db"] as const) {
      const first = (await this.cluster.get({ ...KINDS.pod, namespace: SHOP, name: `${app}-0` }))!;
      const { labels, ownerReferences } = first.metadata;
      const spec = {
        containers: [{ name: "main", image: "none" }],
        schedulingGates: [{ name: PLACEMENT_GATE }],
      };
      const owned = { labels: labels!, ownerReferences: ownerReferences! };
      const metadata = { name: `${app}-gated-${this.#gated}`, namespace: SHOP, ...owned };
      await this.cluster.create({ ...KINDS.pod, metadata, spec });
    }
  }

  get #kubeletCa(): string {
    return join(this.installation.folder, "kubelet-ca.pem");
  }

  async #addWorkload(name: WorkloadName): Promise<void> {
    const kind = WORKLOADS[name];
    const options = { kind, namespace: SHOP, labels: WORKFLOW, workloadLabels: WORKFLOW };
    const [workload] = await this.cluster.create(workloadObject(name, options));
    let owner = ownerOf(workload!);
    if (kind === "Deployment") {
      const metadata = {
        name: `${name}-1`,
        namespace: SHOP,
        ownerReferences: [owner],
        labels: { app: name },
      };
      const { selector, template } = workload!.spec!;
      const [set] = await this.cluster.create({
        ...KINDS.replicaSet,
        metadata,
        spec: { replicas: 1, selector, template },
      });
      owner = ownerOf(set!);
    }
    const group = { [LABELS.appGroup]: DECLARED.name, [LABELS.appGroupWorkload]: name };
    await this.#addPod(`${name}-0`, { app: name, ...WORKFLOW, ...group }, [owner]);
    await this.cluster.bindAndRun({ namespace: SHOP, name: `${name}-0` }, PLACES[name]);
  }

  async #addPod(
    name: string,
    labels: Record<string, string>,
    ownerReferences: OwnerReference[],
  ): Promise<KubernetesObject> {
    const metadata = { name, namespace: SHOP, labels, ownerReferences };
    const spec = { containers: [{ name: "main", image: "none" }] };
    const [pod] = await this.cluster.create({ ...KINDS.pod, metadata, spec });
    return pod!;
  }

  async #addProbePod(node: string, address: string): Promise<void> {
    const ref: ObjectRef = { ...KINDS.pod, namespace: NAMESPACE, name: `probe-${node}` };
    const labels = { "app.kubernetes.io/name": "isochrone-probe" };
    const spec = { containers: [{ name: "probe", image: "none" }] };
    await this.cluster.create({
      ...KINDS.pod,
      metadata: { namespace: NAMESPACE, name: ref.name, labels },
      spec,
    });
    await this.cluster.bindAndRun({ namespace: NAMESPACE, name: ref.name }, node);
    await this.cluster.patch(ref, { status: { podIP: address, podIPs: [{ ip: address }] } }, "status");
  }

  /** Mounts the Secret like a kubelet. */
  async #mountKeys(): Promise<string> {
    const path = join(this.installation.folder, "hmac-keys");
    const ref = { ...KINDS.secret, namespace: NAMESPACE, name: KEYS_SECRET };
    const copy = async (): Promise<void> => {
      const keys = ((await this.cluster.get(ref))?.["data"] as Record<string, string> | undefined)?.[
        "hmac-keys"
      ];
      if (keys === undefined) return;
      // Atomic, like a kubelet, so that nobody reads a partial file.
      writeFileSync(`${path}.new`, Buffer.from(keys, "base64"), { mode: 0o600 });
      renameSync(`${path}.new`, path);
    };
    await copy();
    const timer = setInterval(() => void copy().catch(() => undefined), MOUNT_INTERVAL_MS);
    this.#closers.push(() => clearInterval(timer));
    return path;
  }

  async #serve(page: () => string): Promise<string> {
    const server: Server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(page());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    this.#closers.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
}

function ownerOf({ apiVersion, kind, metadata: { name, uid } }: KubernetesObject): OwnerReference {
  return { apiVersion, kind, name, uid: uid!, controller: true };
}
