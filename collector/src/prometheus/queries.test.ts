import { loadSettings, section } from "@isochrone/runtime";
import { duration } from "@isochrone/runtime";
import { describe, expect, test } from "vitest";
import { queriesOf, resourceQuery, scrapesSelector } from "./queries.ts";
import { trustFields } from "../trust-settings.ts";
import { prometheusFields, prometheusRules } from "./settings.ts";

const collector = section(
  "collector",
  { intervalMs: duration({ default: 10_000, description: "" }), ...prometheusFields, ...trustFields },
  { rules: prometheusRules },
);

function configOf(settings: Record<string, unknown> = {}) {
  return loadSettings([collector], { env: {}, file: { collector: settings } }).collector;
}

function mistakeOf(settings: Record<string, unknown>): string {
  try {
    configOf(settings);
    return "none";
  } catch (error) {
    return String(error);
  }
}

describe("queriesOf", () => {
  test("is a handful of range selectors, whatever the size of the cluster", () => {
    expect(queriesOf(configOf()).map(({ name, selector }) => `${name} ${selector}`)).toEqual([
      'pods {__name__=~"container_cpu_usage_seconds_total|container_memory_working_set_bytes",pod!="",container!="POD",job="kubelet",metrics_path="/metrics/cadvisor"}',
      'nodes {__name__=~"container_cpu_usage_seconds_total|container_memory_working_set_bytes|container_network_receive_bytes_total|container_network_transmit_bytes_total",id="/",job="kubelet",metrics_path="/metrics/cadvisor"}',
      'requests {__name__=~"istio_requests_total"}',
      'traffic {__name__=~"istio_request_bytes_sum|istio_response_bytes_sum|istio_tcp_sent_bytes_total|istio_tcp_received_bytes_total"}',
      'linkerd {__name__=~"tcp_write_bytes_total|tcp_read_bytes_total|request_total|response_total",direction="outbound",dst_namespace!=""}',
      'service_graph {__name__=~"traces_service_graph_request_total|traces_service_graph_request_failed_total|hubble_http_requests_total|hubble_http_responses_total|hubble_flows_processed_total"}',
    ]);
  });

  test("every query gets the extra matchers", () => {
    const queries = queriesOf(
      configOf({
        prometheusMatchers: ['env=~"prod|stage"'],
        prometheusPreset: "legacy",
      }),
    );
    expect(queries).toHaveLength(6);
    for (const { selector } of queries) expect(selector).toMatch(/,env=~"prod\|stage"}$/);
    expect(queries[0]!.selector).toContain('pod_name!="",container_name!="POD"');
  });

  test("the kubelet's other page is asked for where a preset tells it from cAdvisor's", () => {
    expect(resourceQuery(configOf())?.selector).toBe(
      '{__name__=~"container_cpu_usage_seconds_total|container_memory_working_set_bytes",pod!="",container!="POD",job="kubelet",metrics_path="/metrics/resource"}',
    );
    expect(resourceQuery(configOf({ prometheusPreset: "legacy" }))).toBeNull();
  });

  test("agents that count bytes are asked for, once somebody says whose are believed", () => {
    const config = configOf({ prometheusTrustedPods: ["netobserv/flowlogs-pipeline"] });
    expect(queriesOf(config).find(({ name }) => name === "agents")!.selector).toBe(
      '{__name__=~"beyla_network_flow_bytes_total|obi_network_flow_bytes_total|netobserv_workload_egress_bytes_total|netobserv_workload_ingress_bytes_total|networkobservability_adv_forward_bytes|container_net_tcp_bytes_sent_total|container_net_tcp_bytes_received_total|netobserv_workload_sampling"}',
    );
  });

  test("node_exporter is asked for idle time and free memory, once somebody says whose it is", () => {
    const config = configOf({ nodeExporterDaemonSets: ["monitoring/node-exporter"] });
    const query = queriesOf(config).find(({ name }) => name === "node_exporter")!;
    expect(query.selector).toBe(
      '{__name__=~"node_cpu_seconds_total|node_memory_MemAvailable_bytes",mode=~"idle|"}',
    );
    expect([query.topic, query.startIsTold]).toEqual(["isochrone.usage.v1", false]);
  });

  test("jobs are matched by their names and nothing else", () => {
    expect(scrapesSelector(configOf(), ["a.b", 'c"d\\', "monitoring/envoy"])).toBe(
      String.raw`up{job=~"a\\.b|c\"d\\\\|monitoring/envoy"}`,
    );
  });
});

describe("settings", () => {
  test.each([
    [{ prometheusWindowMs: "10s" }, "prometheusWindowMs must be above intervalMs (10000), got 10000"],
    [{ prometheusUsername: "u" }, "prometheusUsername and prometheusPasswordFile must be given together"],
    [
      { prometheusUsername: "u", prometheusPasswordFile: "p", prometheusTokenFile: "t" },
      "prometheusUsername and prometheusTokenFile must not both be given",
    ],
    [{ prometheusUrl: "prometheus:9090" }, "must be an http or https URL"],
    [{ prometheusMatchers: ['a="b"} or up{'] }, "must hold only label matchers"],
    [{ prometheusPreset: "own" }, "must be one of kube-prometheus, kubernetes-sd, legacy"],
  ])("%o is refused", (settings, mistake) => {
    expect(mistakeOf(settings)).toContain(mistake);
  });
});
