import { describe, expect, test } from "vitest";
import { NODE_EXPORTER, PRESETS, type PresetName } from "./presets.ts";
import type { Query } from "./queries.ts";
import { SeriesTrust, type TrustSettings } from "./series-trust.ts";

type Labels = Readonly<Record<string, string>>;

const DEFAULTS: TrustSettings = {
  prometheusNamespaceLabel: "namespace",
  prometheusPodLabel: "pod",
  prometheusTrustUnlabelled: false,
  prometheusTrustedPods: [],
  waypointServes: [],
  ztunnelDaemonSets: ["istio-system/ztunnel"],
  hubbleDaemonSets: ["kube-system/cilium"],
  nodeExporterDaemonSets: ["monitoring/node-exporter"],
};
const CHANNEL: Labels = {
  reporter: "source",
  source_workload: "web",
  source_workload_namespace: "shop",
  destination_workload: "db",
  destination_workload_namespace: "store",
};
const WEB: Labels = { namespace: "shop", pod: "web-5d9c6-x7f2k" };

function verdict(metric: string, labels: Labels, settings: Partial<TrustSettings> = {}): string | null {
  const query: Pick<Query, "name" | "preset"> = { name: "requests", preset: null };
  return new SeriesTrust({ ...DEFAULTS, ...settings }).refusal(query as Query, {
    metric,
    labels,
    samples: [],
  });
}

const istio = (labels: Labels, settings?: Partial<TrustSettings>): string | null =>
  verdict("istio_requests_total", { ...CHANNEL, ...labels }, settings);

describe("Istio's series", () => {
  test.each<[string, Labels]>([
    ["the target's own calls", WEB],
    ["those of a pod of a StatefulSet", { namespace: "shop", pod: "web-0" }],
    ["those of a pod without a controller", { namespace: "shop", pod: "web" }],
    ["those to the target", { namespace: "store", pod: "db-0", reporter: "destination" }],
    ["all of a ztunnel of the mesh", { namespace: "istio-system", pod: "ztunnel-x7f2k" }],
    [
      "those of a workload whose name the API server had to cut",
      { namespace: "shop", source_workload: "w".repeat(60), pod: `${"w".repeat(58)}x7f2k` },
    ],
    [
      "those that a waypoint saw of its own namespace",
      { namespace: "store", pod: "gate-1", reporter: "waypoint" },
    ],
  ])("are taken: %s", (_, labels) => {
    expect(istio(labels)).toBeNull();
  });

  test.each<[string, Labels]>([
    ["from another namespace", { namespace: "evil", pod: "web-5d9c6-x7f2k" }],
    ["from a pod of another workload", { namespace: "shop", pod: "cart-0" }],
    ["from the other end", { namespace: "store", pod: "db-0" }],
    ["from who calls itself ztunnel elsewhere", { namespace: "evil", pod: "ztunnel-x7f2k" }],
    ["that a waypoint elsewhere says it saw", { namespace: "evil", pod: "gate-1", reporter: "waypoint" }],
    [
      "whose pod's label is the page's own",
      { namespace: "evil", pod: "x-0", exported_namespace: "shop", exported_pod: "web-0" },
    ],
  ])("are refused %s", (_, labels) => {
    expect(istio(labels)).toBe("not_an_end");
  });

  test("without a label that says whose page it was are taken only where an operator allows it", () => {
    expect(istio({})).toBe("no_target");
    expect(istio({ namespace: "shop" })).toBe("no_target");
    expect(istio({}, { prometheusTrustUnlabelled: true })).toBeNull();
    expect(istio({ namespace: "evil", pod: "x-0" }, { prometheusTrustUnlabelled: true })).toBe("not_an_end");
  });

  test("are judged by the labels that an operator names", () => {
    const labels = { ...WEB, k8s_ns: "evil", k8s_pod: "x-0" };
    const settings = { prometheusNamespaceLabel: "k8s_ns", prometheusPodLabel: "k8s_pod" };
    expect(istio(labels)).toBeNull();
    expect(istio(labels, settings)).toBe("not_an_end");
  });

  test("with more labels or bytes of labels than a series may have are refused", () => {
    const many = Object.fromEntries(Array.from({ length: 70 }, (_, i) => [`l${i}`, "x"]));
    expect(istio({ ...WEB, ...many })).toBe("too_large");
    expect(istio({ ...WEB, long: "x".repeat(5000) })).toBe("too_large");
  });
});

test("a Linkerd proxy tells of its own pod's calls: Prometheus says whose they are, and no page", () => {
  const trust = new SeriesTrust({ ...DEFAULTS, prometheusNamespaceLabel: "ns", prometheusPodLabel: "p" });
  const query: Query = {
    name: "linkerd",
    preset: null,
    topic: "isochrone.traffic.v1",
    selector: "",
    startIsTold: true,
  };
  const labels = { ns: "shop", p: "web-0", namespace: "bank", pod: "vault-0", dst_namespace: "store" };
  const series = { metric: "tcp_read_bytes_total", labels, samples: [] };
  expect(trust.refusal(query, series)).toBeNull();
  expect(trust.withPod(query, series).labels).toMatchObject({ namespace: "shop", pod: "web-0" });
  expect(trust.refusal(query, { ...series, labels: { dst_namespace: "store" } })).toBe("no_target");
  expect(verdict("obi_network_flow_bytes_total", WEB)).toBe("not_trusted");
});

describe("series of who watches from above", () => {
  test.each<[string, string, Labels, Partial<TrustSettings>, string | null]>([
    [
      "Hubble's, from Cilium's agents",
      "hubble_flows_processed_total",
      { namespace: "kube-system", pod: "cilium-x7f2k" },
      {},
      null,
    ],
    [
      "Hubble's, from elsewhere",
      "hubble_flows_processed_total",
      { namespace: "evil", pod: "cilium-x7f2k" },
      {},
      "not_trusted",
    ],
    [
      "service graphs, from anybody",
      "traces_service_graph_request_total",
      { namespace: "evil", pod: "x-0" },
      {},
      "not_trusted",
    ],
    ["service graphs, from nobody", "traces_service_graph_request_total", {}, {}, "no_target"],
    [
      "service graphs, from who is named",
      "traces_service_graph_request_total",
      { namespace: "otel", pod: "collector-5d9c6-x7f2k" },
      { prometheusTrustedPods: ["otel/collector"] },
      null,
    ],
    [
      "service graphs, from a namesake",
      "traces_service_graph_request_total",
      { namespace: "evil", pod: "collector-5d9c6-x7f2k" },
      { prometheusTrustedPods: ["otel/collector"] },
      "not_trusted",
    ],
  ])("%s", (_, metric, labels, settings, reason) => {
    expect(verdict(metric, labels, settings)).toBe(reason);
  });
});

describe("node_exporter's series", () => {
  const POD: Labels = { namespace: "monitoring", pod: "node-exporter-x7f2k" };

  const refusal = (labels: Labels): string | null => {
    const query = { name: "node_exporter", preset: NODE_EXPORTER } as Query;
    return new SeriesTrust(DEFAULTS).refusal(query, {
      metric: "node_cpu_seconds_total",
      labels,
      samples: [],
    });
  };

  test.each<[string, Labels]>([
    ["of a pod of its DaemonSet, with the node's name", { ...POD, node: "n1" }],
    ["with the name in another label", { ...POD, instance: "n1.example.com" }],
    ["of what is no pod", { nodename: "n1" }],
  ])("are taken: %s", (_, labels) => {
    expect(refusal(labels)).toBeNull();
  });

  test.each<[string, Labels, string]>([
    ["of a namesake elsewhere", { namespace: "evil", pod: "node-exporter-x7f2k", node: "n1" }, "not_trusted"],
    ["of another pod there", { namespace: "monitoring", pod: "grafana-0", node: "n1" }, "not_trusted"],
    ["with an address for a name", { ...POD, instance: "10.0.0.1:9100" }, "no_node"],
    ["without any name", POD, "no_node"],
  ])("are refused, of node_exporter: %s", (_, labels, reason) => {
    expect(refusal(labels)).toBe(reason);
  });
});

describe("usage", () => {
  const usage = (name: "pods" | "nodes", preset: PresetName, labels: Labels): string | null =>
    new SeriesTrust(DEFAULTS).refusal({ name, preset: PRESETS[preset] } as Query, {
      metric: "container_cpu_usage_seconds_total",
      labels,
      samples: [],
    });

  test.each<[string, "pods" | "nodes", PresetName, Labels]>([
    [
      "kubelets' of any pod",
      "pods",
      "kube-prometheus",
      { node: "n1", namespace: "shop", pod: "web-0", container: "a" },
    ],
    [
      "kubelets' under renamed labels",
      "pods",
      "kube-prometheus",
      { node: "n1", namespace: "kube-system", exported_pod: "web-0" },
    ],
    [
      "kubelets' under old labels",
      "pods",
      "legacy",
      { instance: "n1", namespace: "shop", pod_name: "web-0" },
    ],
    ["kubelets' of the node", "nodes", "kube-prometheus", { node: "n1", id: "/" }],
  ])("is taken: %s", (_, name, preset, labels) => {
    expect(usage(name, preset, labels)).toBeNull();
  });

  test.each<[string, "pods" | "nodes", PresetName, Labels]>([
    [
      "of other pods, from some pod's page",
      "pods",
      "kubernetes-sd",
      { namespace: "evil", pod: "x-0", exported_namespace: "shop", exported_pod: "web-0" },
    ],
    [
      "of other pods under old labels",
      "pods",
      "legacy",
      { namespace: "evil", pod: "x-0", pod_name: "web-0" },
    ],
    [
      "of other pods under the labels of a standalone cAdvisor",
      "pods",
      "kubernetes-sd",
      { namespace: "evil", pod: "x-0", container_label_io_kubernetes_pod_name: "web-0" },
    ],
    [
      "of a node, from some pod's page",
      "nodes",
      "kubernetes-sd",
      { namespace: "evil", pod: "x-0", node: "n1", id: "/" },
    ],
  ])("is refused: %s", (_, name, preset, labels) => {
    expect(usage(name, preset, labels)).toBe("not_trusted");
  });
});
