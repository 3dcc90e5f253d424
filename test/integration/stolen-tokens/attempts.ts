// Attempts with a stolen token of ours, and the worst effect of each token.
import { KINDS } from "@isochrone/kubernetes";
import { streamJob } from "../../harness/streams.ts";

export const NAMESPACE = "isochrone";

/** A request. The API server must not change anything. */
export type Attempt = readonly [verb: string, path: string, body?: unknown];

const DEFAULT = "/api/v1/namespaces/default";
const APPS = "/apis/apps/v1/namespaces";
const POD = { ...KINDS.pod, metadata: { name: "evil" } };
export const CONTAINER = { name: "main", image: "none" };
const ROOT = {
  ...POD,
  spec: {
    hostPID: true,
    hostNetwork: true,
    volumes: [{ name: "root", hostPath: { path: "/" } }],
    containers: [{ ...CONTAINER, securityContext: { privileged: true } }],
  },
};
const OWNED = {
  labels: { "isochrone.dev/stream-job": "ghost", "isochrone.dev/stream-template": "work" },
  ownerReferences: [
    { apiVersion: "isochrone.dev/v1alpha1", kind: "StreamJob", name: "ghost", uid: "1", controller: true },
  ],
};
const TEMPLATE = { metadata: { labels: { app: "x" } }, spec: ROOT.spec };
const WORKLOAD = { replicas: 1, selector: { matchLabels: { app: "x" } }, template: TEMPLATE };
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const ADMIN = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
const WEBHOOKS = "/apis/admissionregistration.k8s.io/v1";
const TOKEN = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };

/** Network manager pods are root on their nodes. */
const MANAGERS = `${APPS}/${NAMESPACE}/daemonsets/isochrone-network-manager`;
const managers = (container: object, spec: object = {}): object => ({
  spec: { template: { spec: { ...spec, containers: [{ ...CONTAINER, ...container }] } } },
});

/** Attempts that must fail with every token. */
export const NEVER: Readonly<Record<string, Attempt>> = {
  "create a privileged pod": ["POST", `${DEFAULT}/pods`, ROOT],
  "create one in kube-system": ["POST", "/api/v1/namespaces/kube-system/pods", ROOT],
  "create one as a StreamJob's, in kube-system": [
    "POST",
    "/api/v1/namespaces/kube-system/pods",
    { ...ROOT, metadata: { name: "evil", ...OWNED } },
  ],
  "create one as a StreamJob's, where there are some": [
    "POST",
    `${DEFAULT}/pods`,
    { ...ROOT, metadata: { name: "evil", ...OWNED } },
  ],
  "create a pod beside the aggregator": [
    "POST",
    `/api/v1/namespaces/${NAMESPACE}/pods`,
    { ...POD, spec: { serviceAccountName: "isochrone-aggregator", containers: [CONTAINER] } },
  ],
  "create a Deployment": [
    "POST",
    `${APPS}/default/deployments`,
    { metadata: { name: "evil" }, spec: WORKLOAD },
  ],
  "create a DaemonSet": [
    "POST",
    `${APPS}/kube-system/daemonsets`,
    { metadata: { name: "evil" }, spec: WORKLOAD },
  ],
  "change a Deployment's pods": [
    "PATCH",
    `${APPS}/default/deployments/web`,
    { spec: { template: { spec: { serviceAccountName: "admin" } } } },
  ],
  "change a pod's image": ["PATCH", `${DEFAULT}/pods/pod-0`, { metadata: { labels: { app: "evil" } } }],
  "add a container to a pod": [
    "PATCH",
    `${DEFAULT}/pods/pod-0/ephemeralcontainers`,
    { spec: { ephemeralContainers: [CONTAINER] } },
  ],
  "run a command in a pod": ["POST", `${DEFAULT}/pods/pod-0/exec?command=sh`],
  "read a pod's log": ["GET", `${DEFAULT}/pods/pod-0/log`],
  "bind a pod": [
    "POST",
    `${DEFAULT}/pods/pod-0/binding`,
    {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name: "pod-0" },
      target: { kind: "Node", name: "node-0" },
    },
  ],
  "change the network managers' image": ["PATCH", MANAGERS, managers({ image: "evil" })],
  "change their command": ["PATCH", MANAGERS, managers({ command: ["sh"] })],
  "change another variable of theirs": [
    "PATCH",
    MANAGERS,
    managers({ env: [{ name: "NODE_OPTIONS", value: "x" }] }),
  ],
  "give them the host's processes": ["PATCH", MANAGERS, managers({}, { hostPID: true })],
  "delete a pod": ["DELETE", `${DEFAULT}/pods/pod-0`],
  "delete a Deployment": ["DELETE", `${APPS}/default/deployments/web`],
  "list Secrets": ["GET", "/api/v1/secrets"],
  "list the installation's Secrets": ["GET", `/api/v1/namespaces/${NAMESPACE}/secrets`],
  "read another's Secret": ["GET", `${DEFAULT}/secrets/theirs`],
  "get another account's token": [
    "POST",
    `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/isochrone-aggregator/token`,
    TOKEN,
  ],
  "get an administrator's token": [
    "POST",
    "/api/v1/namespaces/kube-system/serviceaccounts/admin/token",
    TOKEN,
  ],
  "have a Secret filled with a token": [
    "POST",
    `/api/v1/namespaces/${NAMESPACE}/secrets`,
    {
      type: "kubernetes.io/service-account-token",
      metadata: {
        name: "isochrone-probe-keys",
        annotations: { "kubernetes.io/service-account.name": "isochrone-scheduler-plugin" },
      },
    },
  ],
  "become an administrator": [
    "POST",
    `${RBAC}/clusterrolebindings`,
    { metadata: { name: "evil" }, roleRef: ADMIN, subjects: [] },
  ],
  "change a role": ["PATCH", `${RBAC}/clusterroles/isochrone-aggregator`, { rules: [] }],
  "remove a node": ["DELETE", "/api/v1/nodes/node-0"],
  "read through a node": ["GET", "/api/v1/nodes/node-0/proxy/pods"],
  "have the cluster's new pods sent elsewhere": [
    "POST",
    `${WEBHOOKS}/mutatingwebhookconfigurations`,
    {
      metadata: { name: "isochrone-placement" },
      webhooks: [
        {
          name: "evil.isochrone.dev",
          admissionReviewVersions: ["v1"],
          clientConfig: { url: "https://example.com/" },
          failurePolicy: "Ignore",
          sideEffects: "None",
          timeoutSeconds: 2,
          rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
        },
      ],
    },
  ],
  "remove an admission policy": ["DELETE", `${WEBHOOKS}/validatingadmissionpolicies/isochrone-pods`],
  "write a StreamJob": [
    "POST",
    "/apis/isochrone.dev/v1alpha1/namespaces/default/streamjobs",
    streamJob("default", "evil"),
  ],
  "write EndpointSlices": [
    "POST",
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    { metadata: { name: "evil" }, addressType: "IPv4", endpoints: [] },
  ],
  "change a Service": ["PATCH", `${DEFAULT}/services/web`, { spec: { selector: { app: "evil" } } }],
};

export const reads = (path: string): Attempt => ["GET", path];
const PODS = reads("/api/v1/pods");
const NODES = reads("/api/v1/nodes");

/** The worst effects of a token, by account without `isochrone-`, in the words of docs/rbac.md. */
export const CAN: Readonly<Record<string, Readonly<Record<string, Attempt>>>> = {
  probe: {},
  connections: {},
  "network-manager": {},
  collector: {
    "lists pods": PODS,
    "lists nodes": NODES,
  },
  dispatcher: {
    "lists pods": PODS,
    "lists Services": reads("/api/v1/services"),
    "lists EndpointSlices": reads("/apis/discovery.k8s.io/v1/endpointslices"),
  },
  aggregator: {
    "lists pods": PODS,
    "lists nodes": NODES,
    "annotates nodes": [
      "PATCH",
      "/api/v1/nodes/node-0",
      { metadata: { annotations: { "isochrone.dev/observed-at": "x" } } },
    ],
    "opens gates of the planner": ["PATCH", `${DEFAULT}/pods/gated`, { spec: { schedulingGates: null } }],
    "writes Events": [
      "POST",
      "/apis/events.k8s.io/v1/namespaces/default/events",
      {
        metadata: { name: "x", namespace: "default" },
        eventTime: "2026-01-01T00:00:00.000000Z",
        action: "x",
        reason: "x",
        type: "Normal",
        reportingController: "x",
        reportingInstance: "x",
        regarding: { kind: "Pod", namespace: "default", name: "pod-0" },
      },
    ],
  },
  "scheduler-plugin": {
    "lists pods": PODS,
    "lists nodes": NODES,
    "evicts pods": [
      "POST",
      `${DEFAULT}/pods/pod-0/eviction`,
      { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: "pod-0", namespace: "default" } },
    ],
    "scales Deployments": ["PATCH", `${APPS}/default/deployments/web/scale`, { spec: { replicas: 3 } }],
    "creates unprivileged pods in namespaces with StreamJobs": [
      "POST",
      `${DEFAULT}/pods`,
      { ...POD, metadata: { name: "evil", ...OWNED }, spec: { containers: [CONTAINER] } },
    ],
    "writes hints and DestinationRules": [
      "PATCH",
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-1",
      { endpoints: [{ addresses: ["10.0.0.1"], hints: { forZones: [{ name: "z" }] } }] },
    ],
  },
  uninstall: {
    "lists pods": PODS,
    "opens gates of the planner": ["PATCH", `${DEFAULT}/pods/gated`, { spec: { schedulingGates: null } }],
  },
  crds: {
    "creates CustomResourceDefinitions": [
      "POST",
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      {
        metadata: { name: "evils.example.com" },
        spec: {
          group: "example.com",
          names: { kind: "Evil", plural: "evils" },
          scope: "Namespaced",
          versions: [
            { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
          ],
        },
      },
    ],
  },
  "release-flows": {
    "sets the mode of the network managers": [
      "PATCH",
      MANAGERS,
      managers({ env: [{ name: "ISOCHRONE_FLOWS_MODE", value: "observe" }] }),
    ],
  },
  "clean-up": {
    "deletes the installation's Secrets of keys": [
      "DELETE",
      `/api/v1/namespaces/${NAMESPACE}/secrets/isochrone-probe-keys`,
    ],
    "changes nodes": ["PATCH", "/api/v1/nodes/node-0", { spec: { unschedulable: true } }],
  },
};
