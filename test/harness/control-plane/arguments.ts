import { join } from "node:path";

export interface Ports {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
  readonly controllerManager: number;
  readonly scheduler: number;
  readonly kwok: number;
}

export const FILES = {
  ca: "ca.pem",
  serverCertificate: "server.pem",
  serverKey: "server-key.pem",
  serviceAccountKey: "service-accounts-key.pem",
  auditPolicy: "audit-policy.yaml",
  auditLog: "audit.log",
  schedulerConfig: "scheduler.yaml",
} as const;

const HOST = "127.0.0.1";
/** Excludes controllers for clouds and kubelets, and node-lifecycle-controller, which taints silent nodes. */
const CONTROLLERS = [
  "deployment",
  "replicaset",
  "statefulset",
  "daemonset",
  "job",
  "cronjob",
  "pod-garbage-collector",
  "garbage-collector",
  "namespace",
  "serviceaccount",
  "serviceaccount-token",
  "root-ca-certificate-publisher",
  "clusterrole-aggregation",
  "disruption",
  "endpoints",
  "endpointslice",
  "resourcequota",
  "validatingadmissionpolicy-status",
];

export function etcdArguments(folder: string, ports: Ports): string[] {
  const client = `http://${HOST}:${ports.etcd}`;
  const peer = `http://${HOST}:${ports.etcdPeer}`;
  return [
    `--data-dir=${join(folder, "etcd")}`,
    // Safe: the machine stays up, so the kernel keeps the writes of a killed etcd.
    "--unsafe-no-fsync",
    "--log-level=warn",
    "--quota-backend-bytes=4294967296",
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
}

interface ApiServerOptions {
  readonly audit: boolean;
  /** Whether a controller creates the default service account. */
  readonly serviceAccounts: boolean;
  readonly flags: readonly string[];
}

export function apiServerArguments(folder: string, ports: Ports, options: ApiServerOptions): string[] {
  const disabled = [
    // Taints every new node until node-lifecycle-controller, which doesn't run, has seen it.
    "TaintNodesByCondition",
    ...(options.serviceAccounts ? [] : ["ServiceAccount"]),
  ];
  const audit = [
    `--audit-policy-file=${join(folder, FILES.auditPolicy)}`,
    `--audit-log-path=${join(folder, FILES.auditLog)}`,
    "--audit-log-maxsize=100000",
  ];
  return [
    `--etcd-servers=http://${HOST}:${ports.etcd}`,
    `--bind-address=${HOST}`,
    `--external-hostname=${HOST}`,
    `--secure-port=${ports.apiServer}`,
    ...serving(folder),
    `--client-ca-file=${join(folder, FILES.ca)}`,
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${join(folder, FILES.serviceAccountKey)}`,
    `--service-account-signing-key-file=${join(folder, FILES.serviceAccountKey)}`,
    // Makes a 10-minute token expire after 10 minutes instead of a year.
    "--service-account-extend-token-expiration=false",
    "--service-cluster-ip-range=10.96.0.0/16",
    "--endpoint-reconciler-type=none",
    "--allow-privileged=true",
    `--disable-admission-plugins=${disabled.join(",")}`,
    "--profiling=false",
    "--max-requests-inflight=800",
    "--max-mutating-requests-inflight=400",
    ...(options.audit ? audit : []),
    ...options.flags,
  ];
}

export function controllerManagerArguments(folder: string, ports: Ports, kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    `--bind-address=${HOST}`,
    `--secure-port=${ports.controllerManager}`,
    ...serving(folder),
    "--authorization-always-allow-paths=/healthz,/metrics",
    // Otherwise controllers act as the controller-manager user, which has almost no RBAC permissions.
    "--use-service-account-credentials=true",
    `--service-account-private-key-file=${join(folder, FILES.serviceAccountKey)}`,
    `--root-ca-file=${join(folder, FILES.ca)}`,
    `--controllers=${CONTROLLERS.map((name) => `${name}-controller`).join(",")}`,
    "--kube-api-qps=1000",
    "--kube-api-burst=2000",
    "--concurrent-replicaset-syncs=10",
  ];
}

export function schedulerArguments(folder: string, ports: Ports): string[] {
  return [
    `--config=${join(folder, FILES.schedulerConfig)}`,
    `--bind-address=${HOST}`,
    `--secure-port=${ports.scheduler}`,
    ...serving(folder),
    "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
  ];
}

/** A KubeSchedulerConfiguration with defaults except for the scheduler's request rate. */
export const PLAIN_SCHEDULER_CONFIG = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: "@KUBECONFIG@", qps: 2000, burst: 4000}
leaderElection: {leaderElect: false}
`;

export function kwokArguments(
  ports: Ports,
  kubeconfig: string,
  stages: string,
  annotation: string,
): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--manage-nodes-with-annotation-selector=${annotation}`,
    // Contains no KwokConfiguration, because every unset option would count as 0.
    `--config=${stages}`,
    "--node-lease-duration-seconds=0",
    "--cidr=10.128.0.0/9",
    "--node-ip=10.0.0.1",
    `--server-address=${HOST}:${ports.kwok}`,
  ];
}

export function auditPolicy(level: string): string {
  const policy = {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [{ level, omitManagedFields: true }],
  };
  return JSON.stringify(policy);
}

function serving(folder: string): string[] {
  return [
    `--tls-cert-file=${join(folder, FILES.serverCertificate)}`,
    `--tls-private-key-file=${join(folder, FILES.serverKey)}`,
  ];
}
