// Pages of realistic size in the format of real ones (test/data/pages), with label values new to each page.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const DATA = join(import.meta.dirname, "../../data/pages");
const PODS_PER_NODE = 110;
const CONTAINERS_PER_POD = 3;

type PageFormat = "text" | "openmetrics";

export interface BenchPage {
  readonly text: string;
  readonly format: PageFormat;
}

/** Format of cAdvisor's page: the fixed part, and the rows repeated per pod. */
interface NodeShape {
  readonly family: readonly string[];
  readonly once: readonly string[];
  readonly pod: readonly string[];
}

const cadvisor = shapesOf(readFileSync(join(DATA, "cadvisor.txt"), "utf8"), "shop", "db-0");

function shapesOf(page: string, namespace: string, pod: string): NodeShape[] {
  const shapes: { family: string[]; once: string[]; pod: string[] }[] = [];
  for (const line of page.trimEnd().split("\n")) {
    if (line.startsWith("# HELP")) shapes.push({ family: [], once: [], pod: [] });
    const shape = shapes.at(-1)!;
    if (line.startsWith("#")) shape.family.push(line);
    else if (line.includes(`namespace="${namespace}"`)) {
      if (line.includes(`pod="${pod}"`)) shape.pod.push(line);
    } else shape.once.push(line);
  }
  return shapes;
}

/** A node's /metrics/cadvisor: every pod has its cgroup, a pause container and two more containers. */
export function nodePage(round: number, fresh: boolean): BenchPage {
  const timeMs = String(Date.now());
  const lines: string[] = [];
  for (const { family, once, pod } of cadvisor) {
    lines.push(...family, ...once.map((line) => line.replace(/ \d{13}$/, ` ${timeMs}`)));
    for (let index = 0; index < PODS_PER_NODE; index++) {
      const id = hex(index, fresh ? round : 0);
      const name = `workload-${index % 37}-${id.slice(0, 10)}-${id.slice(10, 15)}`;
      for (const line of pod) {
        const copies = line.includes('container="app"') ? CONTAINERS_PER_POD - 1 : 1;
        for (let copy = 0; copy < copies; copy++)
          lines.push(
            line
              .replaceAll("5c1e9d32-8f7a-4c26-8d3b-7e6f5a4b3c22", `${id.slice(0, 8)}-${id.slice(8, 20)}`)
              .replaceAll("5c1e9d328f7a4c268d3b7e6f5a4b3c22", `${copy}${id}${id}`)
              .replace('pod="db-0"', `pod="${name}"`)
              .replace('container="app"', `container="app-${copy}"`)
              .replace(
                / ([\d.e+]+) \d{13}$/,
                (_, value: string) => ` ${grown(value, index + round)} ${timeMs}`,
              ),
          );
      }
    }
  }
  return { text: `${lines.join("\n")}\n`, format: "text" };
}

function grown(value: string, by: number): string {
  const number = Number(value);
  return number === 0 ? value : String(Number.isInteger(number) ? number + by * 4_096 : number + by * 0.125);
}

/** A random-looking name part: 32 hexadecimal digits. */
function hex(index: number, round: number): string {
  let state = Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(round + 1, 0x85ebca6b);
  let text = "";
  while (text.length < 32) {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x165667b1;
    text += (state >>> 0).toString(16).padStart(8, "0");
  }
  return text.slice(0, 32);
}

interface IstioMetric {
  readonly metric: readonly {
    readonly label: readonly { readonly name: string; readonly value: string }[];
  }[];
}

/** Labels as in istio-proxy's own tests. */
function istioLabels(file: string): readonly (readonly [string, string])[] {
  const template = readFileSync(join(DATA, "istio-proxy", `${file}.yaml.tmpl`), "utf8");
  // The last branch of each template condition applies: nothing is set.
  const text = template
    .replace(/\{\{-? if [\s\S]*?\{\{-? else \}\}([\s\S]*?)\{\{-? end \}\}/g, "$1")
    .replace(/\{\{.*?\}\}/g, "0");
  const { metric } = parse(text) as IstioMetric;
  return metric[0]!.label.map(({ name, value }) => [name, value] as const);
}

const httpLabels = istioLabels("client_request_total");
const tcpLabels = istioLabels("tcp_client_sent_bytes");
const envoyPage = readFileSync(join(DATA, "envoy.txt"), "utf8").trimEnd();
const envoyBounds = [
  ...new Set(
    [...envoyPage.matchAll(/envoy_cluster_upstream_rq_time_bucket\{.*le="([^"]+)"/g)].map(
      ([, bound]) => bound!,
    ),
  ),
];

interface SidecarOptions {
  readonly fresh: boolean;
  /** @default 22 */
  readonly channels?: number;
  /** Adds quotes, backslashes and line ends to a label's value. */
  readonly escaped?: boolean;
}

/** A sidecar's /stats/prometheus: Envoy's own page and Istio's standard metrics. */
export function sidecarPage(
  round: number,
  { fresh, channels = 22, escaped = false }: SidecarOptions,
): BenchPage {
  const lines: string[] = [envoyPage];
  const sets = Array.from({ length: channels }, (_, index) =>
    labelText(httpLabels, index, fresh ? round : 0, escaped),
  );
  const tcpSets = Array.from({ length: channels }, (_, index) =>
    labelText(tcpLabels, index, fresh ? round : 0, escaped),
  );
  const count = (index: number): number => (round + 1) * 100 + index;
  for (const name of [
    "istio_tcp_connections_opened_total",
    "istio_tcp_received_bytes_total",
    "istio_tcp_sent_bytes_total",
  ]) {
    lines.push(`# TYPE ${name} counter`);
    for (const [index, labels] of tcpSets.entries()) lines.push(`${name}{${labels}} ${count(index) * 512}`);
  }
  lines.push("# TYPE istio_requests_total counter");
  for (const [index, labels] of sets.entries()) lines.push(`istio_requests_total{${labels}} ${count(index)}`);
  for (const name of ["istio_request_bytes", "istio_request_duration_milliseconds", "istio_response_bytes"]) {
    lines.push(`# TYPE ${name} histogram`);
    for (const [index, labels] of sets.entries()) {
      for (const [position, bound] of envoyBounds.entries())
        lines.push(
          `${name}_bucket{${labels},le="${bound}"} ${Math.floor((count(index) * (position + 1)) / envoyBounds.length)}`,
        );
      lines.push(`${name}_sum{${labels}} ${count(index) * 731}`, `${name}_count{${labels}} ${count(index)}`);
    }
  }
  return { text: `${lines.join("\n")}\n`, format: "text" };
}

function labelText(
  labels: readonly (readonly [string, string])[],
  index: number,
  round: number,
  escaped: boolean,
): string {
  const id = hex(index, round).slice(0, 12);
  return labels
    .map(([name, value]) => {
      if (name === "source_version")
        return `${name}="${escaped ? String.raw`v1 \"quoted\" c:\\x\n` : value}${id}"`;
      return /workload$|principal$|_app$|canonical_service$|_service$/.test(name)
        ? `${name}="${value}-${id}"`
        : `${name}="${value}"`;
    })
    .join(",");
}

/** Families without suffix, exemplars, times in seconds, creation times, the end mark. */
export function openMetricsPage(round: number): BenchPage {
  const channels = 400;
  const nowSeconds = Date.now() / 1000;
  const lines: string[] = [];
  for (const family of ["istio_tcp_received_bytes", "istio_tcp_sent_bytes", "istio_tcp_connections_opened"]) {
    lines.push(`# HELP ${family} As ztunnel counts them.`, `# TYPE ${family} counter`);
    for (let index = 0; index < channels; index++) {
      const labels = labelText(tcpLabels, index, round, index % 10 === 0);
      lines.push(
        `${family}_total{${labels}} ${(round + 1) * 512 + index} ${nowSeconds.toFixed(3)} # {trace_id="${hex(index, round)}"} 1.0 ${nowSeconds.toFixed(3)}`,
        `${family}_created{${labels}} ${(nowSeconds - 3_600).toFixed(3)}`,
      );
    }
  }
  return { text: `${lines.join("\n")}\n# EOF\n`, format: "openmetrics" };
}

/** One invalid line at the end: Prometheus rejects the page; our collector skips the line. */
export function malformedPage(round: number): BenchPage {
  const { text, format } = sidecarPage(round, { fresh: true });
  return { text: `${text}istio_requests_total{reporter="source",source_workload="cut} 1\n`, format };
}
