// Moving pages of a kubelet's cAdvisor and of an Istio proxy. Each step is the content one scrape later.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

export const NODE_NAME = "node-1";

export type PageName = "cadvisor" | "istio";

/** Content served to one scrape. Null: the target was away. */
export type ServedPage = string | null;

interface PageServer {
  /** host:port; pages are /cadvisor and /istio. */
  readonly address: string;
  readonly served: Readonly<Record<PageName, readonly ServedPage[]>>;
  close(): Promise<void>;
}

/** Serves the result of `next` for each scrape number, starting at 0. */
export async function servePages(next: (page: PageName, scrape: number) => ServedPage): Promise<PageServer> {
  const served: Record<PageName, ServedPage[]> = { cadvisor: [], istio: [] };
  const server = createServer((request, response) => {
    const page = request.url === "/cadvisor" ? "cadvisor" : "istio";
    const text = next(page, served[page].length);
    served[page].push(text);
    if (text === null) response.statusCode = 503;
    response.setHeader("content-type", "text/plain; version=0.0.4; charset=utf-8");
    response.end(text ?? "");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    served,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

// Output of cAdvisor's library for two pods of namespace "shop" and their node.
const CADVISOR = readFileSync(join(import.meta.dirname, "../../data/pages/cadvisor.txt"), "utf8").split("\n");
const TIMED = /^(\w+)\{(.*)\} (\S+) (\d{13})$/;
const NEWEST_MS = Math.max(...CADVISOR.map((line) => Number(TIMED.exec(line)?.[4] ?? 0)));
const COUNTERS = new Set(CADVISOR.flatMap((line) => /^# TYPE (\w+) counter$/.exec(line)?.[1] ?? []));
/** Age of the newest sample at the scrape. */
const SAMPLE_AGE_MS = 120;

/** First counter value of a container's replacement. */
export const FIRST_CORE_SECONDS = 0.25;
export const WEB_CORES = 0.4;
/** Increase of levels per step. */
export const LEVEL_STEP = 4096;

interface CadvisorSteps {
  readonly stepSeconds: number;
  /** Step at which a new container replaces that of pod db-0. */
  readonly replacedAt: number;
}

/** Counters and levels rise by step. Rows keep their relative sample times. */
export function cadvisorPage(step: number, nowMs: number, steps: CadvisorSteps): string {
  const lines = CADVISOR.map((line) => {
    const [, name, labels, value, time] = TIMED.exec(line) ?? [];
    if (name === undefined) return line;
    const timeMs = nowMs - SAMPLE_AGE_MS - (NEWEST_MS - Number(time));
    return `${nextSample(name, labels!, Number(value), step, steps)} ${timeMs}`;
  });
  return lines.join("\n");
}

function nextSample(name: string, labels: string, value: number, step: number, steps: CadvisorSteps): string {
  const { stepSeconds, replacedAt } = steps;
  const ofDatabase = labels.startsWith('container="app"') && labels.includes('pod="db-0"');
  const replaced = ofDatabase && step >= replacedAt;
  const now = replaced ? labels.replace(/(id|name)="([^"]+)b"/g, '$1="$2c"') : labels;
  if (!COUNTERS.has(name)) return `${name}{${now}} ${value + step * LEVEL_STEP}`;
  if (name !== "container_cpu_usage_seconds_total")
    return `${name}{${now}} ${value + step * stepSeconds * perSecond(labels)}`;
  const began = replaced ? FIRST_CORE_SECONDS : value;
  return `${name}{${now}} ${began + (step - (replaced ? replacedAt : 0)) * stepSeconds * cores(labels)}`;
}

function cores(labels: string): number {
  if (labels.includes('id="/"')) return 1.1;
  if (!labels.startsWith('container="app"')) return 0.05;
  return labels.includes('pod="db-0"') ? 0.3 : WEB_CORES;
}

function perSecond(labels: string): number {
  return 1000 * (1 + (labels.length % 17));
}

type Labels = Readonly<Record<string, string>>;

function row(name: string, labels: Labels, value: number): string {
  const text = Object.entries(labels).map(([key, of]) => `${key}="${of}"`);
  return `${name}{${text.join(",")}} ${value}`;
}

interface Channel {
  readonly reporter: "source" | "destination";
  readonly from: string;
  readonly to: string;
  readonly code: string;
  readonly requests: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
}

const CHANNELS: readonly Channel[] = [
  {
    reporter: "source",
    from: "web",
    to: "db",
    code: "200",
    requests: 12,
    requestBytes: 900,
    responseBytes: 4_100,
  },
  {
    reporter: "source",
    from: "web",
    to: "db",
    code: "503",
    requests: 2,
    requestBytes: 900,
    responseBytes: 90,
  },
  {
    reporter: "destination",
    from: "web",
    to: "db",
    code: "200",
    requests: 12,
    requestBytes: 880,
    responseBytes: 4_000,
  },
  {
    reporter: "destination",
    from: "edge",
    to: "web",
    code: "200",
    requests: 7,
    requestBytes: 350,
    responseBytes: 19_000,
  },
];

const BOUNDS = ["100", "1000", "10000"];

/** Labels as in istio/proxy testdata/metric/client_request_total.yaml.tmpl. */
function istioLabels({ reporter, from, to, code }: Channel): Labels {
  return {
    reporter,
    source_workload: from,
    source_canonical_service: from,
    source_canonical_revision: "latest",
    source_workload_namespace: "shop",
    source_principal: `spiffe://cluster.local/ns/shop/sa/${from}`,
    source_app: from,
    source_version: "v1",
    source_cluster: "Kubernetes",
    destination_workload: to,
    destination_workload_namespace: "shop",
    destination_principal: `spiffe://cluster.local/ns/shop/sa/${to}`,
    destination_app: to,
    destination_version: "v1",
    destination_service: `${to}.shop.svc.cluster.local`,
    destination_canonical_service: to,
    destination_canonical_revision: "latest",
    destination_service_name: to,
    destination_service_namespace: "shop",
    destination_cluster: "Kubernetes",
    request_protocol: "http",
    response_code: code,
    grpc_response_status: "",
    response_flags: "-",
    connection_security_policy: reporter === "source" ? "unknown" : "mutual_tls",
  };
}

/** Puts all observations into one bucket, so that the sum of sizes is exact. */
function histogram(name: string, labels: Labels, count: number, size: number): string[] {
  const buckets = BOUNDS.map((bound) =>
    row(`${name}_bucket`, { ...labels, le: bound }, size <= Number(bound) ? count : 0),
  );
  return [
    ...buckets,
    row(`${name}_bucket`, { ...labels, le: "+Inf" }, count),
    row(`${name}_sum`, labels, count * size),
    row(`${name}_count`, labels, count),
  ];
}

/** Page without timestamps. `restarts`: step at which the proxy's counters restart. */
export function istioPage(step: number, { restarts }: { readonly restarts?: number } = {}): string {
  const began = restarts !== undefined && step >= restarts ? restarts : null;
  const count = (perStep: number): number => (began === null ? 500 : 1) + (step - (began ?? 0)) * perStep;
  const of = (name: string, type: string, rows: (channel: Channel) => string[]): string[] => [
    `# TYPE ${name} ${type}`,
    ...CHANNELS.flatMap(rows),
  ];
  return `${[
    ...of("istio_requests_total", "counter", (channel) => [
      row("istio_requests_total", istioLabels(channel), count(channel.requests)),
    ]),
    ...of("istio_request_bytes", "histogram", (channel) =>
      histogram("istio_request_bytes", istioLabels(channel), count(channel.requests), channel.requestBytes),
    ),
    ...of("istio_response_bytes", "histogram", (channel) =>
      histogram("istio_response_bytes", istioLabels(channel), count(channel.requests), channel.responseBytes),
    ),
    ...of("istio_request_duration_milliseconds", "histogram", (channel) =>
      histogram("istio_request_duration_milliseconds", istioLabels(channel), count(channel.requests), 20),
    ),
    "# TYPE istio_tcp_sent_bytes_total counter",
    row("istio_tcp_sent_bytes_total", { ...istioLabels(CHANNELS[0]!), request_protocol: "tcp" }, count(700)),
    "# TYPE envoy_cluster_upstream_rq_total counter",
    row("envoy_cluster_upstream_rq_total", { cluster_name: "xds-grpc" }, count(3)),
  ].join("\n")}\n`;
}
