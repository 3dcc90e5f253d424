import type { KubernetesObject } from "@isochrone/kubernetes";
import type { Attempt } from "./attempt.ts";
import { NODES, TENANT, VICTIM, WORKFLOW } from "./testbed.ts";
import { until } from "./picture.ts";
import { tenantPod, type Tenant } from "./tenant.ts";

const FORGED_PER_SECOND = 2e9;
const PENDING = 300;
const FLOW = { "isochrone.dev/workflow": WORKFLOW };
const beganMs = Date.now();

function forgedIstio(): string {
  const count = Math.round(((Date.now() - beganMs) / 1_000) * FORGED_PER_SECOND);
  const rows = ["source", "destination", "waypoint"].flatMap((reporter) =>
    [
      ["web", VICTIM, "db", VICTIM],
      ["db", VICTIM, "web", VICTIM],
      ["api", VICTIM, "sidecar", TENANT],
      ["web", VICTIM, "sidecar", TENANT],
    ].map(
      ([source, sourceNamespace, target, targetNamespace]) =>
        `istio_tcp_sent_bytes_total{reporter="${reporter}",source_workload="${source}",source_workload_namespace="${sourceNamespace}",destination_workload="${target}",destination_workload_namespace="${targetNamespace}",request_protocol="tcp"} ${count}`,
    ),
  );
  return `# TYPE istio_tcp_sent_bytes_total counter\n${rows.join("\n")}\n`;
}

function forgedHubble(): string {
  const count = Math.round(((Date.now() - beganMs) / 1_000) * FORGED_PER_SECOND);
  const labels = `source_namespace="${VICTIM}",source_workload="web",destination_namespace="${VICTIM}",destination_workload="api"`;
  return `# TYPE hubble_http_requests_total counter\nhubble_http_requests_total{${labels},reporter="client",status="200"} ${count}\n`;
}

async function pages(
  tenant: Tenant,
  page: () => string,
  pod: (port: number) => KubernetesObject,
  isRead: boolean,
) {
  const served = await tenant.serve(page);
  await tenant.runningPod(pod(served.port), served.port);
  if (isRead) await until("the collector reads the forged page", async () => served.asked() > 3);
  return isRead ? "read" : "runs";
}

const port = (name: string, containerPort: number) => ({ ports: [{ name, containerPort }] });

function patchedStatus(name: string, status: object) {
  return async (tenant: Tenant): Promise<number> => {
    await tenant.make(
      tenantPod(name, { labels: FLOW, spec: { schedulerName: "nobody" }, container: requests("7", "1Gi") }),
    );
    return tenant.ask("PATCH", `${tenant.pathOf("v1", "Pod")}/${name}/status`, { status });
  };
}

function requests(cpu: string, memory: string): { readonly resources: object } {
  return { resources: { requests: { cpu, memory } } };
}

export const PODS: readonly Attempt[] = [
  {
    name: "pods with names, labels and a workflow like the victim's",
    act: (tenant) =>
      tenant.makeAll(
        ["web", "db", "api"].map((app) =>
          tenantPod(`${app}-like`, {
            labels: { app, ...FLOW },
            annotations: { "isochrone.dev/workload": app },
          }),
        ),
      ),
    gets: [201],
  },
  {
    name: "a pod with a container istio-proxy, at whose address a forged page is",
    act: (tenant) =>
      pages(
        tenant,
        forgedIstio,
        (containerPort) =>
          tenantPod("sidecar", {
            labels: { app: "sidecar", ...FLOW },
            container: { name: "istio-proxy", ...port("http-envoy-prom", containerPort) },
          }),
        true,
      ),
    gets: "read",
  },
  {
    name: "a pod that says it is a waypoint, with a forged page",
    act: (tenant) =>
      pages(
        tenant,
        forgedIstio,
        (containerPort) =>
          tenantPod("waypoint", {
            labels: { "gateway.networking.k8s.io/gateway-class-name": "istio-waypoint" },
            container: { name: "istio-proxy", ...port("http-envoy-prom", containerPort) },
          }),
        true,
      ),
    gets: "read",
  },
  {
    name: "a pod that says it is the mesh's ztunnel, with a forged page",
    act: (tenant) =>
      pages(
        tenant,
        forgedIstio,
        (containerPort) =>
          tenantPod("ztunnel", {
            labels: { app: "ztunnel" },
            container: { name: "istio-proxy", ...port("ztunnel-stats", containerPort) },
          }),
        false,
      ),
    gets: "runs",
  },
  {
    name: "a pod that says it is Cilium's agent, with a forged page",
    act: (tenant) =>
      pages(
        tenant,
        forgedHubble,
        (containerPort) =>
          tenantPod("cilium", {
            labels: { "k8s-app": "cilium" },
            container: { name: "cilium-agent", ...port("hubble-metrics", containerPort) },
          }),
        false,
      ),
    gets: "runs",
  },
  {
    name: "a pod on the victim's node that says it is that node's probe",
    act: async (tenant) => {
      const labels = {
        "app.kubernetes.io/name": "isochrone-probe",
        "app.kubernetes.io/component": "probe",
        "app.kubernetes.io/instance": "isochrone",
      };
      await tenant.runningPod(tenantPod("probe", { labels, node: NODES[1] }), 1);
      return "runs";
    },
    gets: "runs",
  },
  {
    name: "pods that ask for 1e308 of CPU and memory",
    act: (tenant) =>
      tenant.makeAll([
        // These overflow kube-scheduler's integers, so it binds each of them.
        ...NODES.map((node, at) =>
          tenantPod(`infinite-${at}`, { labels: FLOW, node, container: requests("1e308", "1e308") }),
        ),
        tenantPod("large", { labels: FLOW, node: null, container: requests("1E", "1E") }),
      ]),
    gets: [201],
  },
  {
    name: `${PENDING} pods that nobody can place`,
    act: (tenant) =>
      tenant.makeAll(
        Array.from({ length: PENDING }, (_, at) =>
          tenantPod(`pending-${at}`, { labels: FLOW, node: null, container: requests("1k", "1Gi") }),
        ),
      ),
    gets: [201],
  },
  {
    name: "a pending pod that nominates itself onto the victim's node, by its own status",
    act: patchedStatus("nominated", { nominatedNodeName: NODES[1] }),
    gets: 200,
  },
  {
    name: "a status that says that its pod runs, and where",
    act: patchedStatus("claimed", { phase: "Running", hostIP: "10.0.0.2", podIP: "10.0.0.9" }),
    gets: 200,
  },
  {
    name: "a pod that it binds itself to the victim's node",
    act: async (tenant) => {
      await tenant.make(tenantPod("bound", { labels: FLOW, spec: { schedulerName: "nobody" }, node: null }));
      return tenant.ask("POST", `${tenant.pathOf("v1", "Pod")}/bound/binding`, {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: "bound" },
        target: { apiVersion: "v1", kind: "Node", name: NODES[1] },
      });
    },
    gets: 201,
  },
  {
    name: "pods with our gate, and with what our planner writes",
    act: (tenant) =>
      tenant.makeAll([
        tenantPod("gated", {
          labels: { app: "web", ...FLOW },
          annotations: {
            "isochrone.dev/planned-node": NODES[0],
            "isochrone.dev/release": "true",
            "isochrone.dev/appgroup": `${VICTIM}/${WORKFLOW}`,
          },
          node: null,
          spec: { schedulingGates: [{ name: "isochrone.dev/placement" }] },
        }),
      ]),
    gets: [201],
  },
  {
    name: "move records that name the victim's pods, on a ReplicaSet of its own",
    act: (tenant) => {
      const template = {
        metadata: { labels: { app: "mover" } },
        spec: { containers: [{ name: "main", image: "none" }] },
      };
      return tenant.make({
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        metadata: {
          name: "mover",
          annotations: {
            "isochrone.dev/moves": JSON.stringify([
              { pod: "web", namespace: VICTIM, from: NODES[1], to: NODES[0], at: new Date().toISOString() },
            ]),
            "isochrone.dev/last-move": new Date().toISOString(),
          },
        },
        spec: { replicas: 0, selector: { matchLabels: { app: "mover" } }, template },
      });
    },
    gets: 201,
  },
];
