// Rows of byte sources for traffic between web (on n1) and db (on n2), with real labels (see byte-sources.ts
// of @isochrone/telemetry).
import type { Attributes, Metric } from "@isochrone/telemetry";
import { counter, gauge, istio } from "./records.ts";

/** Bytes per second from web to db, and back. */
export const ASKED = 1000;
export const ANSWERED = 9000;
/** Seconds between two pages. */
export const STEP_SECONDS = 2;
export const CONNECTION_BYTES = "isochrone.connection.bytes";

/** A source's pages by node after the given seconds. */
export type SourcePage = (seconds: number, timeMs: number) => Readonly<Record<string, readonly Metric[]>>;

const cumulative = (name: string, attributes: Attributes, timeMs: number, value: number): Metric =>
  counter(name, attributes, timeMs, 1_000_000 + value);

/** Each agent counts both directions at its own node. */
function bothNodes(
  rows: (timeMs: number, asked: number, answered: number, node: string) => Metric[],
): SourcePage {
  return (seconds, timeMs) => ({
    n1: rows(timeMs, ASKED * seconds, ANSWERED * seconds, "n1"),
    n2: rows(timeMs, ASKED * seconds, ANSWERED * seconds, "n2"),
  });
}

export const obiRow = (source: string, target: string, direction: string): Attributes => ({
  k8s_src_owner_name: source,
  k8s_src_namespace: source === "web" ? "shop" : "store",
  k8s_src_owner_type: "Deployment",
  k8s_dst_owner_name: target,
  k8s_dst_namespace: target === "web" ? "shop" : "store",
  k8s_dst_owner_type: "Deployment",
  k8s_src_node_name: source === "web" ? "n1" : "n2",
  k8s_dst_node_name: target === "web" ? "n1" : "n2",
  direction,
});

export function obi(name: string): SourcePage {
  return bothNodes((timeMs, asked, answered) => [
    cumulative(name, obiRow("web", "db", "request"), timeMs, asked),
    cumulative(name, obiRow("db", "web", "response"), timeMs, answered),
    // The Service's address, before translation to the pod's.
    cumulative(name, { ...obiRow("web", "db", "request"), k8s_dst_owner_type: "Service" }, timeMs, asked),
  ]);
}

export const netobservRow = (source: string, target: string): Attributes => ({
  SrcK8S_Namespace: source === "web" ? "shop" : "store",
  SrcK8S_OwnerName: source,
  SrcK8S_OwnerType: "Deployment",
  DstK8S_Namespace: target === "web" ? "shop" : "store",
  DstK8S_OwnerName: target,
  DstK8S_OwnerType: "Deployment",
});

export const netobserv: SourcePage = (seconds, timeMs) => {
  const rows = (source: string, target: string, perSecond: number): Metric[] => {
    const row = netobservRow(source, target);
    const bytes = (perSecond * seconds) / 50;
    return [
      gauge("netobserv_workload_sampling", row, timeMs, 50),
      cumulative("netobserv_workload_egress_bytes_total", row, timeMs, bytes),
      cumulative("netobserv_workload_ingress_bytes_total", row, timeMs, bytes),
    ];
  };
  return { n1: [...rows("web", "db", ASKED), ...rows("db", "web", ANSWERED)] };
};

export const retinaRow = (source: string, target: string, direction: string): Attributes => ({
  direction,
  source_namespace: source === "web" ? "shop" : "store",
  source_podname: `${source}-0`,
  source_workload_kind: "Deployment",
  source_workload_name: source,
  destination_namespace: target === "web" ? "shop" : "store",
  destination_podname: `${target}-0`,
  destination_workload_kind: "Deployment",
  destination_workload_name: target,
});

export const retina: SourcePage = (seconds, timeMs) => {
  const rows = (node: string): Metric[] =>
    [
      { pair: ["web", "db"] as const, bytes: ASKED * seconds, from: "n1" },
      { pair: ["db", "web"] as const, bytes: ANSWERED * seconds, from: "n2" },
    ].map(({ pair, bytes, from }) =>
      gauge(
        "networkobservability_adv_forward_bytes",
        retinaRow(pair[0], pair[1], node === from ? "EGRESS" : "INGRESS"),
        timeMs,
        1_000_000 + bytes,
      ),
    );
  return { n1: rows("n1"), n2: rows("n2") };
};

export const coroot: SourcePage = (seconds, timeMs) => {
  const row = {
    container_id: "/k8s/shop/web-5d9c6-x7f2k/web",
    destination: "10.96.0.10:5432",
    actual_destination: "10.0.2.9:5432",
  };
  return {
    n1: [
      cumulative("container_net_tcp_bytes_sent_total", row, timeMs, ASKED * seconds),
      cumulative("container_net_tcp_bytes_received_total", row, timeMs, ANSWERED * seconds),
    ],
  };
};

export const linkerd: SourcePage = (seconds, timeMs) => {
  const row = {
    direction: "outbound",
    peer: "dst",
    dst_namespace: "store",
    dst_deployment: "db",
    dst_pod: "db-0",
    namespace: "shop",
    pod: "web-5d9c6-x7f2k",
  };
  const { peer: _, ...ofHttp } = row;
  return {
    n1: [
      cumulative("tcp_write_bytes_total", row, timeMs, ASKED * seconds),
      cumulative("tcp_read_bytes_total", row, timeMs, ANSWERED * seconds),
      cumulative(
        "tcp_read_bytes_total",
        { ...row, peer: "src", direction: "inbound" },
        timeMs,
        7e9 * seconds,
      ),
      cumulative("request_total", ofHttp, timeMs, 20 * seconds),
      cumulative("response_total", { ...ofHttp, classification: "success" }, timeMs, 15 * seconds),
      cumulative("response_total", { ...ofHttp, classification: "failure" }, timeMs, 5 * seconds),
    ],
  };
};

export const conntrack: SourcePage = (seconds, timeMs) => {
  const row = { client_address: "10.0.1.7", server_address: "10.0.2.9" };
  if (seconds === 0) return {};
  const delta = (ASKED + ANSWERED) * STEP_SECONDS;
  const startMs = timeMs - STEP_SECONDS * 1000;
  const rows = [counter(CONNECTION_BYTES, row, timeMs, delta, startMs, "delta")];
  return { n1: rows, n2: rows };
};

export const mesh: SourcePage = (seconds, timeMs) => {
  const row = (reporter: string): Attributes => ({
    ...istio(reporter, "web", "db"),
    destination_workload_namespace: "store",
  });
  const rows = (reporter: string): Metric[] => [
    cumulative("istio_request_bytes_sum", row(reporter), timeMs, ASKED * seconds),
    cumulative("istio_response_bytes_sum", row(reporter), timeMs, ANSWERED * seconds),
    cumulative("istio_requests_total", { ...row(reporter), response_code: "200" }, timeMs, 20 * seconds),
  ];
  return { n1: rows("source"), n2: rows("destination") };
};

export const serviceGraph: SourcePage = (seconds, timeMs) => {
  const edge = { client: "shop/web", server: "store/db", connection_type: "" };
  return {
    n1: [cumulative("traces_service_graph_request_total", edge, timeMs, 20 * seconds)],
  };
};

export const hubble: SourcePage = (seconds, timeMs) => {
  const row = {
    source_namespace: "shop",
    source_workload: "web",
    destination_namespace: "store",
    destination_workload: "db",
    reporter: "client",
    status: "200",
  };
  return { n1: [cumulative("hubble_http_requests_total", row, timeMs, 20 * seconds)] };
};
