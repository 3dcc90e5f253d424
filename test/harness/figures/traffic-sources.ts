// Names, labels and pages follow the versions in docs/traffic-sources.md.
import {
  LATENCY_BOUNDS,
  istioName,
  NAMESPACE,
  OTHER_CLUSTER,
  type ChannelDraw,
  type ChannelSource,
  type Draw,
  type Life,
  type PodDraw,
} from "./draw.ts";
import { pairsOf, podsOf, type Pages } from "./pages.ts";
import { counted, counter, gauge, type Labels, type Row } from "./rows.ts";

type Renderer = (draw: Draw, channel: ChannelDraw, pages: Pages) => void;

export const RENDERERS: Readonly<Record<ChannelSource, Renderer>> = {
  istio: (draw, channel, pages) => sidecars(draw, channel, pages, true),
  istio_without_sizes: (draw, channel, pages) => sidecars(draw, channel, pages, false),
  ztunnel,
  waypoint,
  linkerd,
  coroot,
  obi,
  netobserv,
  retina,
  service_graph: serviceGraph,
  hubble,
};

const bytesPerSecond = ({ requestsPerSecond, requestBytes, responseBytes }: ChannelDraw) => ({
  questions: requestsPerSecond * requestBytes,
  answers: requestsPerSecond * responseBytes,
});

function istioLabels(reporter: string, { source, target }: ChannelDraw, draw: Draw): Labels {
  const { cluster } = draw;
  return {
    reporter,
    source_workload: istioName(draw, source),
    source_workload_namespace: NAMESPACE,
    source_principal: `spiffe://cluster.local/ns/${NAMESPACE}/sa/${source}`,
    source_cluster: cluster,
    destination_workload: istioName(draw, target),
    destination_workload_namespace: NAMESPACE,
    destination_service: `${target}.${NAMESPACE}.svc.cluster.local`,
    destination_service_name: target,
    destination_service_namespace: NAMESPACE,
    destination_cluster: cluster,
    connection_security_policy: reporter === "source" ? "unknown" : "mutual_tls",
  };
}

function answersOf({
  failure,
  failedShare,
}: ChannelDraw): { labels: Labels; share: number; isFailed: boolean }[] {
  const isGrpc = failure === "grpc";
  const labels = (code: string, status: string): Labels => ({
    request_protocol: isGrpc ? "grpc" : "http",
    response_code: code,
    grpc_response_status: isGrpc ? status : "",
    response_flags: "-",
  });
  const good = { labels: labels("200", "0"), share: 1 - failedShare, isFailed: false };
  const bad = { labels: labels(isGrpc ? "200" : "503", "14"), share: failedShare, isFailed: true };
  return failedShare === 0 ? [good] : [good, bad];
}

interface Proxy {
  readonly labels: Labels;
  readonly share: number;
  readonly life: Life;
  readonly hasSizes: boolean;
}

function istioRows(channel: ChannelDraw, proxy: Proxy, nowMs: number): Row[] {
  const { share, life, hasSizes } = proxy;
  return answersOf(channel).flatMap((answer) => {
    const labels = { ...proxy.labels, ...answer.labels };
    const perSecond = channel.requestsPerSecond * share * answer.share;
    const requests = counted(life, nowMs, perSecond);
    const histogram = (
      family: string,
      sum: number,
      shares: readonly number[],
      bounds: readonly number[],
    ): Row => {
      let below = 0;
      const buckets = bounds.map((bound, at) => {
        below += shares[at]!;
        return [bound, at === bounds.length - 1 ? requests : Math.floor(requests * below)] as const;
      });
      return { family, type: "histogram", labels, value: { count: requests, sum, buckets } };
    };
    const size = (family: string, each: number): Row => histogram(family, requests * each, [1], [1_000_000]);
    return [
      counter("istio_requests_total", labels, requests),
      ...(hasSizes
        ? [
            size("istio_request_bytes", channel.requestBytes),
            size("istio_response_bytes", channel.responseBytes),
          ]
        : []),
      histogram("istio_request_duration_milliseconds", requests * 20, channel.latencyShares, LATENCY_BOUNDS),
    ];
  });
}

function reporters(
  draw: Draw,
  { source, target, ends }: ChannelDraw,
): { pod: PodDraw; reporter: string; share: number }[] {
  const at = (workload: string, reporter: string) => {
    const pods = podsOf(draw, workload);
    return pods.map((pod) => ({ pod, reporter, share: 1 / pods.length }));
  };
  return [
    ...(ends === "target" ? [] : at(source, "source")),
    ...(ends === "source" ? [] : at(target, "destination")),
  ];
}

/** @param far labels of an end outside this cluster */
function sidecars(draw: Draw, channel: ChannelDraw, pages: Pages, hasSizes: boolean, far: Labels = {}): void {
  for (const { pod, reporter, share } of reporters(draw, channel)) {
    const labels = { ...istioLabels(reporter, channel, draw), ...far };
    const proxy = { labels, share, life: pod.proxy, hasSizes };
    pages.add("istio", { kind: "istio", node: pod.node, pod, life: pod.proxy }, (nowMs) =>
      istioRows(channel, proxy, nowMs),
    );
  }
}

export function outsideCalls(draw: Draw, pages: Pages): void {
  for (const { call, farEnd, direction } of draw.outsideCalls) {
    const side = direction === "out" ? "destination" : "source";
    const name = (label: string): Labels => ({ [`${side}_${label}`]: "unknown" });
    const far =
      farEnd === "unknown"
        ? { ...name("workload"), ...name("workload_namespace"), ...name("cluster"), ...name("principal") }
        : { [`${side}_cluster`]: OTHER_CLUSTER };
    const passed =
      direction === "out" && farEnd === "unknown" ? { destination_service_name: "PassthroughCluster" } : {};
    sidecars(draw, { ...call, ends: direction === "out" ? "source" : "target" }, pages, true, {
      ...far,
      ...passed,
    });
  }
}

function waypoint(draw: Draw, channel: ChannelDraw, pages: Pages): void {
  const node = draw.nodes[0]!;
  const { single: life } = draw;
  const proxy = { labels: istioLabels("waypoint", channel, draw), share: 1, life, hasSizes: true };
  pages.add("waypoint", { kind: "istio", node, pod: null, life }, (nowMs) =>
    istioRows(channel, proxy, nowMs),
  );
}

/** A node's ztunnel counts its pods. Received bytes are the client's. */
function ztunnel(draw: Draw, channel: ChannelDraw, pages: Pages): void {
  const { questions, answers } = bytesPerSecond(channel);
  for (const { pod, reporter, share } of reporters(draw, { ...channel, ends: "both" })) {
    const { agent: life } = pod.node;
    const labels = {
      ...istioLabels(reporter, channel, draw),
      request_protocol: "tcp",
      response_flags: "-",
      pod: pod.name,
    };
    pages.add("ztunnel", { kind: "istio", node: pod.node, pod: null, life }, (nowMs) => [
      counter("istio_tcp_received_bytes_total", labels, counted(life, nowMs, questions * share)),
      counter("istio_tcp_sent_bytes_total", labels, counted(life, nowMs, answers * share)),
    ]);
  }
}

function linkerd(draw: Draw, channel: ChannelDraw, pages: Pages): void {
  const { target, requestsPerSecond, failedShare } = channel;
  const { questions, answers } = bytesPerSecond(channel);
  for (const { from, to, share } of pairsOf(draw, channel)) {
    const life = from.proxy;
    const labels = {
      direction: "outbound",
      peer: "dst",
      dst_namespace: NAMESPACE,
      dst_deployment: target,
      dst_pod: to.name,
    };
    const { peer: _, ...requests } = labels;
    pages.add("linkerd", { kind: "linkerd", node: from.node, pod: from, life }, (nowMs) => {
      const count = (family: string, row: Labels, perSecond: number): Row =>
        counter(family, row, counted(life, nowMs, perSecond * share));
      return [
        count("tcp_write_bytes_total", labels, questions),
        count("tcp_read_bytes_total", labels, answers),
        count("tcp_write_bytes_total", { ...labels, peer: "src" }, questions),
        count("request_total", requests, requestsPerSecond),
        count(
          "response_total",
          { ...requests, classification: "success" },
          requestsPerSecond * (1 - failedShare),
        ),
        count("response_total", { ...requests, classification: "failure" }, requestsPerSecond * failedShare),
      ];
    });
  }
}

function coroot(draw: Draw, channel: ChannelDraw, pages: Pages): void {
  const { questions, answers } = bytesPerSecond(channel);
  for (const { from, to, share } of pairsOf(draw, channel)) {
    const { agent: life } = from.node;
    const labels = {
      container_id: `/k8s/${NAMESPACE}/${from.name}/app`,
      destination: "10.96.0.1:80",
      actual_destination: `${to.ip}:80`,
    };
    pages.add("coroot", { kind: "agent", node: from.node, pod: null, life }, (nowMs) => [
      counter("container_net_tcp_bytes_sent_total", labels, counted(life, nowMs, questions * share)),
      counter("container_net_tcp_bytes_received_total", labels, counted(life, nowMs, answers * share)),
    ]);
  }
}

function nodesOf(from: PodDraw, to: PodDraw): PodDraw["node"][] {
  return [...new Set([from.node, to.node])];
}

function obi(draw: Draw, channel: ChannelDraw, pages: Pages): void {
  const { questions, answers } = bytesPerSecond(channel);
  const end = (side: "src" | "dst", pod: PodDraw): Labels => ({
    [`k8s_${side}_namespace`]: NAMESPACE,
    [`k8s_${side}_owner_name`]: pod.workload,
    [`k8s_${side}_owner_type`]: "Deployment",
    [`k8s_${side}_node_name`]: pod.node.name,
    [`k8s_${side}_name`]: pod.name,
  });
  for (const { from, to, share } of pairsOf(draw, channel))
    for (const node of nodesOf(from, to))
      pages.add("obi", { kind: "agent", node, pod: null, life: node.agent }, (nowMs) => {
        const row = (direction: string, source: PodDraw, target: PodDraw, perSecond: number): Row =>
          counter(
            "beyla_network_flow_bytes_total",
            { direction, ...end("src", source), ...end("dst", target) },
            counted(node.agent, nowMs, perSecond * share),
          );
        return [row("request", from, to, questions), row("response", to, from, answers)];
      });
}

function waysOf(draw: Draw, channel: ChannelDraw) {
  const { questions, answers } = bytesPerSecond(channel);
  return pairsOf(draw, channel).flatMap(({ from, to, share }) => [
    { source: from, target: to, perSecond: questions * share },
    { source: to, target: from, perSecond: answers * share },
  ]);
}

function netobserv(draw: Draw, channel: ChannelDraw, pages: Pages): void {
  const { sampling, ends } = channel;
  for (const { source, target, perSecond } of waysOf(draw, channel)) {
    const labels = {
      SrcK8S_Namespace: NAMESPACE,
      SrcK8S_OwnerName: source.workload,
      SrcK8S_OwnerType: "Deployment",
      DstK8S_Namespace: NAMESPACE,
      DstK8S_OwnerName: target.workload,
      DstK8S_OwnerType: "Deployment",
    };
    const seen = [
      ...(ends === "target" ? [] : [{ direction: "egress", node: source.node }]),
      ...(ends === "source" ? [] : [{ direction: "ingress", node: target.node }]),
    ];
    for (const { direction, node } of seen)
      pages.add("netobserv", { kind: "agent", node, pod: null, life: node.agent }, (nowMs) => [
        counter(
          `netobserv_workload_${direction}_bytes_total`,
          { ...labels, sampling: String(sampling), pods: `${source.name}/${target.name}` },
          counted(node.agent, nowMs, perSecond / sampling),
        ),
      ]);
  }
}

/** Retina exports a gauge that only grows. */
function retina(draw: Draw, channel: ChannelDraw, pages: Pages): void {
  for (const { source, target, perSecond } of waysOf(draw, channel)) {
    const end = (side: "source" | "destination", pod: PodDraw): Labels => ({
      [`${side}_namespace`]: NAMESPACE,
      [`${side}_workload_name`]: pod.workload,
      [`${side}_workload_kind`]: "Deployment",
      [`${side}_podname`]: pod.name,
    });
    const labels = { ...end("source", source), ...end("destination", target) };
    for (const [direction, node] of [
      ["egress", source.node],
      ["ingress", target.node],
    ] as const)
      pages.add("retina", { kind: "agent", node, pod: null, life: node.agent }, (nowMs) => [
        gauge(
          "networkobservability_adv_forward_bytes",
          { direction, ...labels },
          counted(node.agent, nowMs, perSecond),
        ),
      ]);
  }
}

function serviceGraph(draw: Draw, channel: ChannelDraw, pages: Pages): void {
  const { source, target, requestsPerSecond, failedShare } = channel;
  const labels = {
    client: source,
    server: target,
    connection_type: "",
    client_k8s_namespace_name: NAMESPACE,
    server_k8s_namespace_name: NAMESPACE,
    client_k8s_deployment_name: source,
    server_k8s_deployment_name: target,
    failed: "false",
  };
  const { single: life } = draw;
  pages.add("service_graph", { kind: "service_graph", node: draw.nodes[0]!, pod: null, life }, (nowMs) => [
    counter("traces_service_graph_request_total", labels, counted(life, nowMs, requestsPerSecond)),
    counter(
      "traces_service_graph_request_failed_total",
      { ...labels, failed: "true" },
      counted(life, nowMs, requestsPerSecond * failedShare),
    ),
  ]);
}

/** The httpV2 plugin at the server. */
function hubble(draw: Draw, channel: ChannelDraw, pages: Pages): void {
  const { source, target, requestsPerSecond, failedShare } = channel;
  const pods = podsOf(draw, target);
  for (const pod of pods) {
    const { agent: life } = pod.node;
    const row = (status: string, share: number, nowMs: number): Row =>
      counter(
        "hubble_http_requests_total",
        {
          source_namespace: NAMESPACE,
          source_workload: source,
          destination_namespace: NAMESPACE,
          destination_workload: target,
          destination_pod: pod.name,
          method: "GET",
          protocol: "HTTP/1.1",
          reporter: "server",
          status,
        },
        counted(life, nowMs, (requestsPerSecond * share) / pods.length),
      );
    pages.add("hubble", { kind: "hubble", node: pod.node, pod: null, life }, (nowMs) => [
      row("200", 1 - failedShare, nowMs),
      row("503", failedShare, nowMs),
    ]);
  }
}
