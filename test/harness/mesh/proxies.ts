// Pages of Istio's proxies under a load, written from their sources (no proxy was run here):
// - sidecar and waypoint: istio/proxy@00aaa6e source/extensions/filters/http/istio_stats/istio_stats.cc
//   (which reporter, which tags in which order; sizes are the codec's wire bytes of the downstream side:
//   start line, headers and body), values of tags as in istio/proxy@86a72d0
//   testdata/metric/{client_request_total,server_request_total,server_waypoint_proxy_request_total}.yaml.tmpl;
//   envoyproxy/envoy source/common/stats/histogram_impl.cc: a histogram's sum is circllhist's
//   hist_approx_sum;
// - ztunnel: istio/ztunnel@62d8265 src/proxy/metrics.rs (labels, unknown values), outbound.rs (through a
//   waypoint the destination workload is the waypoint and the service the one that was meant), inbound.rs
//   (the source is found by the peer's address: the waypoint), copy.rs and tests/namespaced.rs (received are
//   the client's bytes, sent are the server's), metrics/server.rs (formats).
import type { Exchange } from "./load.ts";

export interface Page {
  readonly contentType: string;
  readonly text: string;
}

type EnvoyReporter = "source" | "destination" | "waypoint";

/** Envoy's buckets for Istio's histograms, in the metric's unit: pkg/bootstrap and Envoy's defaults. */
const BOUNDS = [
  0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000,
  3_600_000,
];

/** Approximates values like circllhist: keeps two significant digits and uses the middle of their range. */
class ApproximateHistogram {
  count = 0;
  sum = 0;
  readonly #values: number[] = [];

  record(value: number): void {
    const width = 10 ** (Math.floor(Math.log10(value)) - 1);
    this.count++;
    this.sum += Math.floor(value / width) * width + width / 2;
    this.#values.push(value);
  }

  lines(name: string, labels: string): string[] {
    const below = (bound: number): number => this.#values.filter((value) => value <= bound).length;
    return [
      ...BOUNDS.map((bound) => `${name}_bucket{${labels},le="${bound}"} ${below(bound)}`),
      `${name}_bucket{${labels},le="+Inf"} ${this.count}`,
      `${name}_sum{${labels}} ${this.sum}`,
      `${name}_count{${labels}} ${this.count}`,
    ];
  }
}

interface Counts {
  requests: number;
  readonly requestBytes: ApproximateHistogram;
  readonly responseBytes: ApproximateHistogram;
  readonly durationMs: ApproximateHistogram;
}

/** Metrics page of a sidecar or a waypoint: HTTP metrics of istio_stats, without TCP. */
export class EnvoyPage {
  readonly #reporter: EnvoyReporter;
  readonly #byStatus = new Map<number, Counts>();
  bytes = 0;

  constructor(reporter: EnvoyReporter) {
    this.#reporter = reporter;
  }

  /** @param addedBytes request headers added by earlier proxies, such as x-request-id */
  take({ status, requestBytes, responseBytes, durationMs }: Exchange, addedBytes = 0): void {
    let counts = this.#byStatus.get(status);
    if (counts === undefined) {
      counts = {
        requests: 0,
        requestBytes: new ApproximateHistogram(),
        responseBytes: new ApproximateHistogram(),
        durationMs: new ApproximateHistogram(),
      };
      this.#byStatus.set(status, counts);
    }
    counts.requests++;
    counts.requestBytes.record(requestBytes + addedBytes);
    counts.responseBytes.record(responseBytes);
    if (durationMs !== undefined) counts.durationMs.record(durationMs);
    this.bytes += requestBytes + addedBytes + responseBytes;
  }

  get page(): Page {
    const counted = [...this.#byStatus].map(([status, counts]) => ({ labels: this.#labels(status), counts }));
    const lines = [
      "# TYPE istio_requests_total counter",
      ...counted.map(({ labels, counts }) => `istio_requests_total{${labels}} ${counts.requests}`),
      "",
      "# TYPE istio_request_bytes histogram",
      ...counted.flatMap(({ labels, counts }) => counts.requestBytes.lines("istio_request_bytes", labels)),
      "",
      "# TYPE istio_response_bytes histogram",
      ...counted.flatMap(({ labels, counts }) => counts.responseBytes.lines("istio_response_bytes", labels)),
      "",
      "# TYPE istio_request_duration_milliseconds histogram",
      ...counted.flatMap(({ labels, counts }) =>
        counts.durationMs.lines("istio_request_duration_milliseconds", labels),
      ),
      "",
    ];
    return { contentType: "text/plain; charset=UTF-8", text: lines.join("\n") };
  }

  #labels(status: number): string {
    return labelsOf({
      reporter: this.#reporter,
      ...client(),
      destination_workload: "db",
      destination_workload_namespace: "shop",
      destination_principal: "spiffe://cluster.local/ns/shop/sa/db",
      destination_app: "db",
      destination_version: "v1",
      destination_service: "db.shop.svc.cluster.local",
      destination_canonical_service: "db",
      destination_canonical_revision: "v1",
      destination_service_name: "db",
      destination_service_namespace: "shop",
      destination_cluster: "Kubernetes",
      request_protocol: "http",
      response_code: String(status),
      grpc_response_status: "",
      response_flags: "-",
      connection_security_policy: this.#reporter === "source" ? "unknown" : "mutual_tls",
    });
  }
}

function client(): Record<string, string> {
  return {
    source_workload: "web",
    source_canonical_service: "web",
    source_canonical_revision: "v1",
    source_workload_namespace: "shop",
    source_principal: "spiffe://cluster.local/ns/shop/sa/web",
    source_app: "web",
    source_version: "v1",
    source_cluster: "Kubernetes",
  };
}

interface TcpCounts {
  readonly labels: string;
  received: number;
  sent: number;
  connections: number;
}

/** Metrics page of a node's ztunnel: connections of its pods, at either end. */
export class ZtunnelPage {
  readonly #counts = new Map<string, TcpCounts>();
  bytes = 0;

  /** Counts one connection's exchange. `addedBytes` as for EnvoyPage. */
  take(
    reporter: "source" | "destination",
    source: string,
    destination: string,
    exchange: Exchange,
    addedBytes = 0,
  ): void {
    const labels = ztunnelLabels(reporter, source, destination);
    let counts = this.#counts.get(labels);
    if (counts === undefined)
      this.#counts.set(labels, (counts = { labels, received: 0, sent: 0, connections: 0 }));
    counts.received += exchange.requestBytes + addedBytes;
    counts.sent += exchange.responseBytes;
    counts.connections++;
    this.bytes += exchange.requestBytes + addedBytes + exchange.responseBytes;
  }

  get page(): Page {
    const family = (name: string, help: string, value: (counts: TcpCounts) => number): string[] => [
      `# HELP istio_${name} ${help}.`,
      `# TYPE istio_${name} counter`,
      ...[...this.#counts.values()].map((counts) => `istio_${name}_total{${counts.labels}} ${value(counts)}`),
    ];
    const lines = [
      ...family(
        "tcp_connections_opened",
        "The total number of TCP connections opened",
        ({ connections }) => connections,
      ),
      ...family(
        "tcp_connections_closed",
        "The total number of TCP connections closed",
        ({ connections }) => connections,
      ),
      ...family(
        "tcp_received_bytes",
        "The size of total bytes received during request in case of a TCP connection",
        ({ received }) => received,
      ),
      ...family(
        "tcp_sent_bytes",
        "The size of total bytes sent during response in case of a TCP connection",
        ({ sent }) => sent,
      ),
      "# EOF",
      "",
    ];
    return {
      contentType: "application/openmetrics-text;charset=utf-8;version=1.0.0",
      text: lines.join("\n"),
    };
  }
}

function ztunnelLabels(reporter: string, source: string, destination: string): string {
  const end = (side: "source" | "destination", workload: string): Record<string, string> => ({
    [`${side}_workload`]: workload,
    [`${side}_canonical_service`]: workload,
    [`${side}_canonical_revision`]: "v1",
    [`${side}_workload_namespace`]: "shop",
    [`${side}_principal`]: `spiffe://cluster.local/ns/shop/sa/${workload}`,
    [`${side}_app`]: workload,
    [`${side}_version`]: "v1",
    [`${side}_cluster`]: "Kubernetes",
  });
  return labelsOf({
    reporter,
    ...end("source", source),
    // The requested service, regardless of the connection's target.
    destination_service: "db.shop.svc.cluster.local",
    destination_service_namespace: "shop",
    destination_service_name: "db",
    ...end("destination", destination),
    request_protocol: "tcp",
    response_flags: "-",
    connection_security_policy: "mutual_tls",
    source_region: "",
    source_zone: "",
    destination_region: "",
    destination_zone: "",
  });
}

function labelsOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(",");
}
