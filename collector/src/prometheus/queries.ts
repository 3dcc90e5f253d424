// Queries of a round. They select samples without computing: see docs/collecting.md.
import { AGENT_FAMILIES, LINKERD_FAMILIES, SAMPLING_FAMILIES, TOPICS } from "@isochrone/telemetry";
import { NODE_EXPORTER_FAMILIES } from "../domain/families.ts";
import { NODE_EXPORTER, PRESETS, type Preset, type PresetName } from "./presets.ts";

export interface Query {
  readonly name:
    | "pods"
    | "resource"
    | "nodes"
    | "node_exporter"
    | "requests"
    | "traffic"
    | "linkerd"
    | "agents"
    | "service_graph";
  readonly topic: string;
  readonly selector: string;
  /** Renames labels of usage series to cAdvisor's, plus the node's. */
  readonly preset: Preset | null;
  /** False for counters that began before both the page's process and their first sample. */
  readonly startIsTold: boolean;
}

interface QuerySettings {
  readonly prometheusPreset: PresetName;
  readonly prometheusMatchers: readonly string[];
  readonly prometheusTrustedPods: readonly string[];
  readonly prometheusTrustUnlabelled: boolean;
  readonly nodeExporterDaemonSets: readonly string[];
}

const CPU_AND_MEMORY = ["container_cpu_usage_seconds_total", "container_memory_working_set_bytes"];
const NETWORK = ["container_network_receive_bytes_total", "container_network_transmit_bytes_total"];
const [IDLE_TIME, FREE_MEMORY] = NODE_EXPORTER_FAMILIES;
const GAUGES: ReadonlySet<string> = new Set([
  "container_memory_working_set_bytes",
  FREE_MEMORY,
  ...SAMPLING_FAMILIES,
]);

/** All other queried metrics are counters. */
export function isGauge(metric: string): boolean {
  return GAUGES.has(metric);
}

/** The number of queries depends on settings only, not on the cluster. */
export function queriesOf(settings: QuerySettings): Query[] {
  const preset = PRESETS[settings.prometheusPreset];
  const usage = preset.usageMatchers;
  const select = selectorOf(settings);
  const usageQuery = { topic: TOPICS.usage, preset };
  const trafficQuery = { topic: TOPICS.traffic, preset: null, startIsTold: true };
  return [
    {
      ...usageQuery,
      name: "pods",
      selector: select(CPU_AND_MEMORY, ...ofPods(preset), ...usage),
      startIsTold: true,
    },
    {
      ...usageQuery,
      name: "nodes",
      selector: select([...CPU_AND_MEMORY, ...NETWORK], 'id="/"', ...usage),
      startIsTold: false,
    },
    ...(settings.nodeExporterDaemonSets.length > 0
      ? [
          {
            topic: TOPICS.usage,
            preset: NODE_EXPORTER,
            name: "node_exporter" as const,
            selector: select([IDLE_TIME, FREE_MEMORY], 'mode=~"idle|"'),
            startIsTold: false,
          },
        ]
      : []),
    { ...trafficQuery, name: "requests", selector: select(["istio_requests_total"]) },
    {
      ...trafficQuery,
      name: "traffic",
      selector: select([
        "istio_request_bytes_sum",
        "istio_response_bytes_sum",
        "istio_tcp_sent_bytes_total",
        "istio_tcp_received_bytes_total",
      ]),
    },
    {
      ...trafficQuery,
      name: "linkerd",
      selector: select(
        LINKERD_FAMILIES.map(({ family }) => family),
        'direction="outbound"',
        'dst_namespace!=""',
      ),
    },
    ...(settings.prometheusTrustedPods.length > 0 || settings.prometheusTrustUnlabelled
      ? [
          {
            ...trafficQuery,
            name: "agents" as const,
            selector: select([...AGENT_FAMILIES.map(({ family }) => family), ...SAMPLING_FAMILIES]),
          },
        ]
      : []),
    {
      ...trafficQuery,
      name: "service_graph",
      selector: select([
        "traces_service_graph_request_total",
        "traces_service_graph_request_failed_total",
        "hubble_http_requests_total",
        "hubble_http_responses_total",
        "hubble_flows_processed_total",
      ]),
    },
  ];
}

/** Used if `pods` lacks a node: the kubelet's resource page. Null if the pages can't be distinguished. */
export function resourceQuery(settings: QuerySettings): Query | null {
  const preset = PRESETS[settings.prometheusPreset];
  if (preset.resourceMatchers === null) return null;
  const selector = selectorOf(settings)(CPU_AND_MEMORY, ...ofPods(preset), ...preset.resourceMatchers);
  return { topic: TOPICS.usage, preset, name: "resource", selector, startIsTold: true };
}

const ofPods = (preset: Preset): readonly string[] => [
  `${preset.pod.at(-1)}!=""`,
  `${preset.container.at(-1)}!="POD"`,
];

function selectorOf({ prometheusMatchers }: QuerySettings) {
  return (metrics: readonly string[], ...matchers: readonly string[]): string =>
    `{${[`__name__=~"${metrics.join("|")}"`, ...matchers, ...prometheusMatchers].join(",")}}`;
}

export function scrapesSelector(settings: QuerySettings, jobs: readonly string[]): string {
  const pattern = jobs.map((job) => escaped(job.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"))).join("|");
  return `up{${[`job=~"${pattern}"`, ...settings.prometheusMatchers].join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll(/["\\]/g, "\\$&").replaceAll("\n", "\\n");
}
