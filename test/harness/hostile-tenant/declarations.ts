import { CHANNELS_ANNOTATION, KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { workloadObject } from "../control-plane/index.ts";
import { TENANT, VICTIM, WORKFLOW } from "./testbed.ts";
import type { Attempt } from "./attempt.ts";

const DEPENDENCIES = "isochrone.dev/dependencies";
const FLOW = { "isochrone.dev/workflow": WORKFLOW };
const ABSURD = { maxNetworkCost: 0, priority: 1e12, minBandwidth: "1P", type: "HTTPRoute" };
const FLOOD_DEPLOYMENTS = 25;
const FLOOD_BYTES = 250_000;
const MANY_CHANNELS = 1_000;

const victims = (name: string): object => ({ kind: "Deployment", name, selector: name, namespace: VICTIM });
const own = (name: string): object => ({ kind: "Deployment", name, selector: name, namespace: TENANT });

/** Has no pods unless `replicas` is given. */
function workload(
  kind: "Deployment" | "StatefulSet" | "DaemonSet",
  name: string,
  calls: readonly object[],
  replicas = 0,
): KubernetesObject {
  const workloadAnnotations = { [DEPENDENCIES]: JSON.stringify(calls) };
  return workloadObject(name, {
    kind,
    namespace: TENANT,
    labels: FLOW,
    workloadLabels: FLOW,
    workloadAnnotations,
    replicas,
  });
}

function appGroup(
  name: string,
  channels: readonly (readonly [from: object, to: object])[],
  annotations: Record<string, string> = {},
): KubernetesObject {
  const named = (workloadRef: object): object => ({ apiVersion: "apps/v1", ...workloadRef });
  return {
    ...KINDS.appGroup,
    metadata: { namespace: TENANT, name, annotations },
    spec: {
      numMembers: channels.length,
      topologySortingAlgorithm: "KahnSort",
      workloads: channels.map(([from, to]) => ({
        workload: named(from),
        dependencies: [{ workload: named(to), maxNetworkCost: 0, minBandwidth: "1P" }],
      })),
    },
  };
}

const calls = [
  { name: "web", namespace: VICTIM, ...ABSURD },
  { name: "db", namespace: VICTIM, ...ABSURD },
  { name: "api", namespace: VICTIM, ...ABSURD },
];

export const DECLARATIONS: readonly Attempt[] = [
  {
    name: "an annotation on its own Deployment that calls the victim's at no distance and with an absurd priority",
    act: (tenant) => tenant.make(workload("Deployment", "caller", calls, 1)),
    gets: 201,
  },
  {
    name: "a Deployment scaled to 0 that does the same",
    act: (tenant) => tenant.make(workload("Deployment", "caller-of-none", calls)),
    gets: 201,
  },
  {
    name: "a Deployment with a name, labels and a workflow like the victim's",
    act: (tenant) => tenant.make(workload("Deployment", "web", calls, 1)),
    gets: 201,
  },
  {
    name: "a StatefulSet and a DaemonSet that are called like the victim's workloads",
    act: (tenant) =>
      tenant.makeAll([workload("StatefulSet", "db", calls, 1), workload("DaemonSet", "api", calls)]),
    gets: [201],
  },
  {
    name: "an AppGroup with a channel from the victim's workload to its own",
    act: (tenant) => tenant.make(appGroup("to-own", [[victims("web"), own("caller")]])),
    gets: 201,
  },
  {
    name: "an AppGroup with a channel between two of the victim's workloads",
    act: (tenant) => tenant.make(appGroup("between", [[victims("api"), victims("db")]])),
    gets: 201,
  },
  {
    name: "an AppGroup whose annotation gives such channels types and priorities",
    act: (tenant) =>
      tenant.make(
        appGroup("typed", [[own("caller"), victims("api")]], {
          [CHANNELS_ANNOTATION]: JSON.stringify([
            { source: "caller", target: `${VICTIM}/api`, type: "HTTPRoute", priority: 1e12 },
            { source: `${VICTIM}/api`, target: `${VICTIM}/web`, priority: 1e12 },
          ]),
        }),
      ),
    gets: 201,
  },
  {
    name: "an AppGroup that is called as the victim's workflow and names its workloads",
    act: (tenant) => tenant.make(appGroup(WORKFLOW, [[victims("api"), own("caller")]])),
    gets: 201,
  },
  {
    name: `an AppGroup with ${MANY_CHANNELS} channels to the victim's workloads`,
    act: (tenant) =>
      tenant.make(
        appGroup(
          "many",
          Array.from({ length: MANY_CHANNELS }, (_, at) => [own(`w${at}`), victims("api")] as const),
        ),
      ),
    gets: 201,
  },
  {
    name: "control characters in the names that it declares",
    act: (tenant) =>
      tenant.make(
        workload("Deployment", "escapes", [
          { name: "\u001b]0;title\u0007\u001b[2J", namespace: VICTIM },
          { name: "api\u001b[31m", namespace: VICTIM, ...ABSURD },
        ]),
      ),
    gets: 201,
  },
  {
    name: "control characters in a label, which the API server refuses",
    act: (tenant) =>
      tenant.make({
        ...workload("Deployment", "labelled", []),
        metadata: { name: "labelled", labels: { "isochrone.dev/workflow": "\u001b[2J" } },
      }),
    gets: 422,
  },
  {
    name: `${FLOOD_DEPLOYMENTS} Deployments that declare 250 kB of channels each`,
    act: (tenant) =>
      tenant.makeAll(
        Array.from({ length: FLOOD_DEPLOYMENTS }, (_, at) => {
          const declared: object[] = [];
          for (let bytes = 0; bytes < FLOOD_BYTES; bytes += 32 + String(declared.length).length)
            declared.push({ name: `w${declared.length}`, namespace: VICTIM });
          return workload("Deployment", `flood-${at}`, declared);
        }),
      ),
    gets: [201],
  },
  {
    name: "its own namespace's annotations, which ask for generated AppGroups",
    act: (tenant) =>
      tenant.ask("PATCH", `/api/v1/namespaces/${TENANT}`, {
        metadata: {
          annotations: { "isochrone.dev/appgroup": "observe", "isochrone.dev/dependencies": "[]" },
        },
      }),
    gets: 200,
  },
  {
    name: "a NetworkTopology of the installation's name with costs that draw everybody to its node",
    act: (tenant) =>
      tenant.make({
        ...KINDS.networkTopology,
        metadata: { name: "nt-default" },
        spec: {
          configmapName: "netperf-metrics",
          weights: ["UserDefined", "NetperfCosts"].map((name) => ({
            name,
            topologyList: [
              {
                topologyKey: "topology.kubernetes.io/zone",
                originList: [{ origin: "z1", costList: [{ destination: "z0", networkCost: 0 }] }],
              },
            ],
          })),
        },
      }),
    gets: 201,
  },
  {
    name: "Leases named like ours, held by itself",
    act: (tenant) =>
      tenant.makeAll(
        [
          "isochrone-aggregator",
          "isochrone-planner",
          "isochrone-scheduler-plugin",
          "isochrone-aggregator-evil",
        ].map((name) => ({
          ...KINDS.lease,
          metadata: { name },
          spec: { holderIdentity: "evil", leaseDurationSeconds: 3_600 },
        })),
      ),
    gets: [201],
  },
  {
    name: "ConfigMaps and Secrets named like ours, with keys and authorities of its own",
    act: (tenant) =>
      tenant.makeAll([
        ...["isochrone-aggregator-ca", "isochrone-scheduler-plugin-ca", "netperf-metrics"].map((name) => ({
          ...KINDS.configMap,
          metadata: { name },
          data: { "ca.crt": "-----BEGIN CERTIFICATE-----", netperf: "0" },
        })),
        ...["isochrone-probe-keys", "isochrone-record-keys", "isochrone-aggregator-certificates"].map(
          (name) => ({ ...KINDS.secret, metadata: { name }, data: { "hmac-keys": "AAAA" } }),
        ),
      ]),
    gets: [201],
  },
  {
    name: "a PodDisruptionBudget and a quota, which concern its own pods alone",
    act: (tenant) =>
      tenant.makeAll([
        {
          apiVersion: "policy/v1",
          kind: "PodDisruptionBudget",
          metadata: { name: "all" },
          spec: { minAvailable: "100%", selector: {} },
        },
      ]),
    gets: [201],
  },
  {
    name: "a Service and an EndpointSlice that claim the victim's pods",
    act: (tenant) =>
      tenant.makeAll([
        {
          ...KINDS.service,
          metadata: { name: "db", annotations: { "service.kubernetes.io/topology-mode": "Auto" } },
          spec: { selector: { app: "web" }, ports: [{ port: 80 }], internalTrafficPolicy: "Local" },
        },
        {
          apiVersion: "discovery.k8s.io/v1",
          kind: "EndpointSlice",
          metadata: { name: "db-of-others", labels: { "kubernetes.io/service-name": "db" } },
          addressType: "IPv4",
          endpoints: [
            {
              addresses: ["10.0.0.1"],
              targetRef: { kind: "Pod", namespace: VICTIM, name: "web" },
            },
          ],
          ports: [{ port: 80 }],
        },
      ]),
    gets: [201],
  },
];
