import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { boundPort } from "@isochrone/primitives";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issueCertificate, makeAuthority } from "@isochrone/kubernetes";
import type { RecordedMetric } from "./recorder.ts";

const ROOT = join(import.meta.dirname, "../../..");
const RECORDER = new URL("recorder.ts", import.meta.url).href;
const HOST = "127.0.0.1";
/** Represents a free port where 0 means no server. */
const ANY_PORT = "any";
const NOWHERE = `${HOST}:1`;
const WITHIN_MS = 90_000;
const HTTP = "isochrone_http_requests_total";
const DAY_MS = 86_400_000;

const WITHOUT_KUBERNETES: readonly string[] = ["probe", "network-manager"];

interface Run {
  readonly component: string;
  readonly until: string;
  readonly env: Readonly<Record<string, string>>;
}

const RUNS: readonly Run[] = [
  {
    component: "probe",
    until: HTTP,
    env: {
      PROBE_NODE: "node",
      PROBE_BIND_ADDRESS: HOST,
      PROBE_HTTP_PORT: ANY_PORT,
      PROBE_UDP_PORT: "0",
      PROBE_BANDWIDTH_PORT: "0",
      PROBE_AUTHENTICATION: "none",
      PROBE_AGGREGATOR_URL: `http://${NOWHERE}`,
    },
  },
  {
    component: "collector",
    until: HTTP,
    env: { COLLECTOR_NODE: "node", COLLECTOR_HOST: HOST, COLLECTOR_PORT: "0" },
  },
  {
    component: "collector",
    until: HTTP,
    env: {
      COLLECTOR_MODE: "prometheus",
      COLLECTOR_PROMETHEUS_URL: `http://${NOWHERE}`,
      COLLECTOR_HOST: HOST,
      COLLECTOR_PORT: "0",
    },
  },
  {
    component: "collector",
    until: HTTP,
    env: {
      COLLECTOR_MODE: "connections",
      COLLECTOR_NODE: "node",
      COLLECTOR_HOST: HOST,
      COLLECTOR_PORT: "0",
    },
  },
  {
    component: "network-manager",
    until: HTTP,
    env: { FLOWS_NODE: "node", FLOWS_HTTP_PORT: ANY_PORT, FLOWS_AGGREGATOR_URL: `http://${NOWHERE}` },
  },
  {
    component: "dispatcher",
    until: HTTP,
    env: {
      DISPATCHER_HOST: HOST,
      DISPATCHER_PORT: "0",
      DISPATCHER_HTTP_PORT: ANY_PORT,
      DISPATCHER_AGGREGATOR_URL: `http://${NOWHERE}`,
    },
  },
  {
    component: "aggregator",
    until: HTTP,
    env: {
      AGGREGATOR_HOST: HOST,
      AGGREGATOR_PORT: "0",
      AGGREGATOR_REPLICA_NAME: "aggregator-0",
      KUBERNETES_NAMESPACE: "isochrone",
      AGGREGATOR_HMAC_KEYS_SECRET: "isochrone/keys",
      AGGREGATOR_RECORD_KEYS_SECRET: "isochrone/record-keys",
      AGGREGATOR_TLS_CERT_FILE: "tls.crt",
      AGGREGATOR_TLS_KEY_FILE: "tls.key",
      AGGREGATOR_TLS_CLIENT_CA_FILE: "ca.crt",
      ACCESS_MODE: "kubernetes",
      ANNOTATIONS_WORKLOADS: "true",
      ANNOTATIONS_NETPERF_CONFIG_MAP: "default/netperf",
      BANDWIDTH_RESOURCE_ADVERTISE: "measured",
      NETWORK_TOPOLOGY_DECLARED_WEIGHTS: "UserDefined",
      NETWORK_TOPOLOGY_LATENCIES_FROM: "default/latencies",
      BUS_KIND: "kafka",
      BUS_BROKERS: NOWHERE,
    },
  },
  {
    component: "aggregator",
    until: "isochrone_certificates_published",
    env: {
      AGGREGATOR_HOST: HOST,
      AGGREGATOR_PORT: "0",
      CERTIFICATES_SECRET: "isochrone/own",
      ACCESS_MODE: "kubernetes",
    },
  },
  {
    component: "scheduler-plugin",
    until: HTTP,
    env: {
      SCHEDULER_HOST: HOST,
      SCHEDULER_PORT: "0",
      SCHEDULER_GRAPH_URL: `http://${NOWHERE}`,
      SCHEDULER_REPLICA_NAME: "scheduler-plugin-0",
      SCHEDULER_SERVICE_NAME: "isochrone-scheduler-plugin",
      KUBERNETES_NAMESPACE: "isochrone",
      SCHEDULER_MANAGED_RESOURCE: "isochrone.dev/placement",
      SCHEDULER_TLS_CERT_FILE: "tls.crt",
      SCHEDULER_TLS_KEY_FILE: "tls.key",
      SCHEDULER_TLS_CLIENT_CA_FILE: "ca.crt",
      WEBHOOK_ENABLED: "true",
      WEBHOOK_HOST: HOST,
      WEBHOOK_PORT: "0",
      PLANNER_ENABLED: "true",
      STREAMS_ENABLED: "true",
      DISPATCH_LEVERS: "hints,istio,replicas",
      DESCHEDULER_MODE: "evict",
    },
  },
  {
    component: "scheduler-plugin",
    until: "isochrone_extender_certificates_not_after_seconds",
    env: {
      SCHEDULER_HOST: HOST,
      SCHEDULER_PORT: "0",
      SCHEDULER_GRAPH_URL: `http://${NOWHERE}`,
      EXTENDER_CERTIFICATES_SECRET: "isochrone/own",
    },
  },
];

/** Sorted metrics by component name. Rejects if a service ends too early. */
export async function recordedMetrics(): Promise<ReadonlyMap<string, readonly RecordedMetric[]>> {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-metrics-"));
  try {
    await writeFiles(folder);
    const told = await Promise.all(RUNS.map((run) => record(run, folder)));
    const byComponent = new Map<string, RecordedMetric[]>();
    for (const [index, { component }] of RUNS.entries()) {
      const known = byComponent.get(component) ?? [];
      const added = told[index]!.filter(({ name }) => !known.some((metric) => metric.name === name));
      byComponent.set(
        component,
        [...known, ...added].sort((a, b) => (a.name < b.name ? -1 : 1)),
      );
    }
    return byComponent;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function record({ component, until, env }: Run, folder: string): Promise<RecordedMetric[]> {
  const port = await freePort();
  return new Promise((resolve, reject) => {
    let said = "";
    const child = fork(join(ROOT, component, "src/main.ts"), [], {
      cwd: folder,
      env: {
        PATH: process.env["PATH"],
        METRICS_REFERENCE_UNTIL: until,
        ISOCHRONE_KUBERNETES_KUBECONFIG: WITHOUT_KUBERNETES.includes(component) ? undefined : "kubeconfig",
        ...Object.fromEntries(
          Object.entries(env).map(([name, value]) => [
            `ISOCHRONE_${name}`,
            value === ANY_PORT ? port : value,
          ]),
        ),
      },
      execArgv: ["--disable-warning=ExperimentalWarning", "--import", RECORDER],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    for (const stream of [child.stdout!, child.stderr!])
      stream.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)));
    const timer = setTimeout(() => child.kill("SIGKILL"), WITHIN_MS);
    child.once("message", (metrics) => resolve(metrics as RecordedMetric[]));
    child.once("exit", () => {
      clearTimeout(timer);
      reject(new Error(`${component} has ended before it had its metrics (${until}):\n${said}`));
    });
  });
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, HOST);
  await once(server, "listening");
  const port = boundPort(server);
  server.close();
  return String(port);
}

async function writeFiles(folder: string): Promise<void> {
  const nowMs = Date.now();
  const validity = { notBeforeMs: nowMs - DAY_MS, notAfterMs: nowMs + DAY_MS };
  const authority = await makeAuthority("nobody", validity);
  const serving = await issueCertificate(authority, [HOST], validity);
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "none",
    clusters: [{ name: "none", cluster: { server: `https://${NOWHERE}` } }],
    contexts: [{ name: "none", context: { cluster: "none", user: "none" } }],
    users: [{ name: "none", user: { token: "none" } }],
  };
  const files = {
    "ca.crt": authority.certificate,
    "tls.crt": serving.certificate,
    "tls.key": serving.key,
    kubeconfig: JSON.stringify(kubeconfig),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
}
