import type { ChartValues } from "./helm.ts";

const GATED = { webhook: { enabled: true }, planner: { enabled: true } };
const SECRET_KAFKA = {
  enabled: true,
  brokers: ["kafka-0.kafka:9093", "kafka-1.kafka:9094", "[fd00::1]:9093"],
  tls: { enabled: true, caSecret: "kafka-ca", clientSecret: "kafka-client" },
  sasl: {
    mechanism: "scram-sha-512",
    usernames: { default: "isochrone", probe: "isochrone-probe" },
    passwordSecret: "kafka-users",
    passwordKeys: { default: "password", probe: "probe-password" },
  },
};

export const MATRIX: Readonly<Record<string, ChartValues>> = {
  "as it is": {},
  "everything off": {
    settings: {
      annotations: { nodes: false },
      networkTopology: { writer: "upstream", declaredWeights: "none" },
      appGroups: { observe: false },
      scheduler: { podEvents: false, appGroupStatus: "upstream" },
      gates: { enabled: false },
      probe: { authentication: "none", bandwidth: false },
    },
    tls: { source: "none" },
    schedulerPlugin: { enabled: false },
    networkPolicy: { enabled: false },
    podDisruptionBudgets: { enabled: false },
    admissionPolicies: { enabled: false },
    crds: { apply: false },
    uninstall: { openGates: false, deleteOwnObjects: false },
  },
  "everything on": {
    size: "large",
    image: { registry: "registry.example.com:5000/team/isochrone", pullSecrets: ["pull"] },
    commonLabels: { "example.com/team": "net" },
    tls: { source: "secret", clientSecret: "clients", extenderClientNames: ["kube-scheduler"] },
    kafka: SECRET_KAFKA,
    aggregator: { replicas: 3, service: { type: "LoadBalancer" }, extraEnv: [{ name: "TZ", value: "UTC" }] },
    collector: { addressFromNode: true },
    settings: {
      ...GATED,
      annotations: { workloads: true, netperfConfigMap: "kube-system/netperf" },
      networkTopology: { namespace: "topologies", latenciesFrom: "kube-system/latencies" },
      bandwidthResource: { advertise: "measured" },
      aggregator: { istioRouting: true, windowMs: "10m", costQuantile: "mean" },
      collector: { nodeExporterDaemonSets: ["monitoring/prometheus-node-exporter"] },
      scheduler: {
        managedResource: "isochrone.dev/placement",
        canaryNamespace: "canaries",
        deletionCosts: "write",
      },
      descheduler: { mode: "evict", maxUnreadyRatio: "34%", windows: ["Sat 00:00-24:00"] },
      streams: { enabled: true, strategy: "joint" },
      dispatch: { levers: ["hints", "istio", "replicas", "scale", "deletion-cost"], changes: 4 },
    },
    networkPolicy: { metricsFrom: [{ namespaceSelector: {} }], egress: [{ ports: [{ port: 4318 }] }] },
  },
  "Kafka without secrets": {
    kafka: { enabled: true, brokers: ["kafka:9092"], client: "kafkajs" },
    aggregator: { replicas: 2 },
  },
  "one collector that asks a Prometheus": {
    collector: { mode: "prometheus", prometheusSecret: "prometheus-login" },
    settings: { collector: { prometheusUrl: "http://prometheus.monitoring:9090" } },
  },
  "IPv6, another name and namespace of annotations": {
    fullnameOverride: "net",
    listenAddress: "::",
    size: "medium",
    settings: { annotations: { prefix: "" }, probe: { udpPort: 17_411 } },
  },
  "what operators know": {
    tls: { source: "cert-manager" },
    monitoring: { monitors: true, rules: true, dashboards: true, labels: { release: "prometheus" } },
    dispatcher: { enabled: true, replicas: 2 },
    networkPolicy: { metricsFrom: [{ namespaceSelector: {} }] },
  },
  "the paper's descheduler, which needs no planner": { settings: { descheduler: { mode: "paper" } } },
  "a dry run of the descheduler": { settings: { descheduler: { mode: "dry-run" } } },
  gates: { settings: GATED, access: { mode: "none", openMetrics: false } },
};
