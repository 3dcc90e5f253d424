import { describe, expect, it } from "vitest";
import { PageBuilder } from "./page.ts";
import { TargetMemory } from "./target-memory.ts";
import { SCRAPE_MS, takePage, type TakenPage } from "./testing/take-page.ts";
import type { TargetKind } from "./families.ts";

function metricsOf(kind: TargetKind, text: string, memory = new TargetMemory({ kind })): TakenPage {
  return takePage(memory, text);
}

const istio = (requests: number, extra = ""): string => `# TYPE istio_requests_total counter
istio_requests_total{reporter="source",source_workload="m0",destination_workload="m1"} ${requests}
# TYPE istio_request_bytes histogram
istio_request_bytes_bucket{reporter="source",le="100"} 3
istio_request_bytes_bucket{reporter="source",le="1000"} 5
istio_request_bytes_bucket{reporter="source",le="+Inf"} 6
istio_request_bytes_sum{reporter="source"} 4200
istio_request_bytes_count{reporter="source"} 6
envoy_cluster_noise{a="b"} 1
${extra}`;

// Follows the formats of the versions in byte-sources.ts of @isochrone/telemetry; not recorded from an agent.
const AGENT_PAGE = `# HELP obi_network_flow_bytes_total bytes submitted from a source network endpoint to a destination network endpoint
# TYPE obi_network_flow_bytes_total counter
obi_network_flow_bytes_total{direction="request",k8s_cluster_name="",k8s_dst_namespace="store",k8s_dst_node_name="n2",k8s_dst_owner_name="db",k8s_dst_owner_type="StatefulSet",k8s_src_namespace="shop",k8s_src_node_name="n1",k8s_src_owner_name="web",k8s_src_owner_type="Deployment",src_zone="a"} 100
obi_network_flow_bytes_total{direction="request",k8s_cluster_name="",k8s_dst_namespace="store",k8s_dst_node_name="n2",k8s_dst_owner_name="db",k8s_dst_owner_type="StatefulSet",k8s_src_namespace="shop",k8s_src_node_name="n1",k8s_src_owner_name="web",k8s_src_owner_type="Deployment",src_zone="b"} 20
# TYPE netobserv_workload_sampling gauge
netobserv_workload_sampling{DstK8S_Namespace="store",DstK8S_OwnerName="db",DstK8S_OwnerType="StatefulSet",DstK8S_Type="Pod",DstSubnetLabel="",K8S_FlowLayer="app",SrcK8S_Namespace="shop",SrcK8S_OwnerName="web",SrcK8S_OwnerType="Deployment",SrcK8S_Type="Pod",SrcSubnetLabel=""} 50
# TYPE netobserv_workload_egress_bytes_total counter
netobserv_workload_egress_bytes_total{DstK8S_Namespace="store",DstK8S_OwnerName="db",DstK8S_OwnerType="StatefulSet",DstK8S_Type="Pod",DstSubnetLabel="",K8S_FlowLayer="app",SrcK8S_Namespace="shop",SrcK8S_OwnerName="web",SrcK8S_OwnerType="Deployment",SrcK8S_Type="Pod",SrcSubnetLabel=""} 7
# TYPE networkobservability_adv_forward_bytes gauge
networkobservability_adv_forward_bytes{destination_ip="10.0.2.9",destination_namespace="store",destination_podname="db-0",destination_workload_kind="StatefulSet",destination_workload_name="db",direction="EGRESS",source_ip="10.0.1.7",source_namespace="shop",source_podname="web-1",source_workload_kind="Deployment",source_workload_name="web"} 8
# TYPE container_net_tcp_bytes_sent_total counter
container_net_tcp_bytes_sent_total{actual_destination="10.0.2.9:5432",app_id="",container_id="/k8s/shop/web-1/web",destination="10.96.0.10:5432",machine_id="m"} 9
other_total 1
`;

describe("PageBuilder", () => {
  it("keeps of agents' rows what names their ends, and adds up what differs in nothing else", () => {
    const { metrics } = metricsOf("agent", AGENT_PAGE);
    expect(
      metrics.map(({ name, kind, points }) => [
        name,
        kind,
        points.map((point) => Object.values(point).at(-1)),
      ]),
    ).toEqual([
      ["obi_network_flow_bytes_total", "sum", [120]],
      ["netobserv_workload_egress_bytes_total", "sum", [7]],
      ["networkobservability_adv_forward_bytes", "gauge", [8]],
      ["container_net_tcp_bytes_sent_total", "sum", [9]],
      ["netobserv_workload_sampling", "gauge", [50]],
    ]);
    expect(metrics.at(-1)!.points[0]!.attributes).toEqual({
      SrcK8S_Namespace: "shop",
      SrcK8S_OwnerName: "web",
      SrcK8S_OwnerType: "Deployment",
      DstK8S_Namespace: "store",
      DstK8S_OwnerName: "db",
      DstK8S_OwnerType: "StatefulSet",
    });
    expect(metrics[3]!.points[0]!.attributes).toEqual({
      container_id: "/k8s/shop/web-1/web",
      actual_destination: "10.0.2.9:5432",
    });
  });

  it("adds up a Linkerd proxy's rows by their owners, whatever pods and addresses those have", () => {
    const row = (pod: string, value: number): string =>
      `tcp_read_bytes_total{direction="outbound",peer="dst",target_addr="10.0.2.9:80",target_ip="10.0.2.9",target_port="80",tls="true",server_id="s",dst_control_plane_ns="linkerd",dst_deployment="db",dst_namespace="store",dst_pod="${pod}",dst_serviceaccount="db"} ${value}`;
    const page = ["# TYPE tcp_read_bytes_total counter", row("db-1", 10), row("db-2", 5), ""].join("\n");
    const [metric] = metricsOf("linkerd", page).metrics;
    expect(metric).toMatchObject({
      unit: "By",
      points: [
        {
          attributes: { direction: "outbound", peer: "dst", dst_namespace: "store", dst_deployment: "db" },
          value: 15,
        },
      ],
    });
    expect(metric!.points).toHaveLength(1);
  });

  it("turns Istio counters into cumulative sums and keeps count and sum of histograms", () => {
    const { metrics } = metricsOf("istio", istio(12));
    expect(metrics).toEqual([
      {
        name: "istio_requests_total",
        unit: "1",
        kind: "sum",
        temporality: "cumulative",
        monotonic: true,
        points: [
          {
            attributes: { reporter: "source", source_workload: "m0", destination_workload: "m1" },
            timeMs: SCRAPE_MS,
            value: 12,
          },
        ],
      },
      {
        name: "istio_request_bytes",
        unit: "By",
        kind: "histogram",
        temporality: "cumulative",
        points: [
          {
            attributes: { reporter: "source" },
            timeMs: SCRAPE_MS,
            count: 6,
            sum: 4200,
            explicitBounds: [],
            bucketCounts: [],
          },
        ],
      },
    ]);
  });

  it("takes the process' start time for counters when the page says it", () => {
    const { metrics } = metricsOf(
      "istio",
      istio(12, `process_start_time_seconds ${SCRAPE_MS / 1000 - 60}\n`),
    );
    expect(metrics.map(({ points }) => points[0])).toMatchObject([
      { startMs: SCRAPE_MS - 60_000 },
      { startMs: SCRAPE_MS - 60_000 },
    ]);
  });

  it("lets a series that was not on the page before begin at that page, and one that fell begin anew", () => {
    const memory = new TargetMemory({ kind: "istio" });
    const line = (workload: string, value: number): string =>
      `istio_requests_total{destination_workload="${workload}"} ${value}\n`;
    const startsOf = (text: string, scrapeMs: number): unknown[] =>
      takePage(memory, text, { scrapeMs }).metrics[0]!.points.map(({ startMs }) => startMs);
    expect(startsOf(line("a", 5), 1000)).toEqual([undefined]);
    expect(startsOf(line("a", 6) + line("b", 2), 3000)).toEqual([undefined, 1000]);
    expect(startsOf(line("a", 1) + line("b", 3), 5000)).toEqual([3000, 1000]);
    expect(startsOf(line("b", 4), 7000)).toEqual([1000]);
    expect(startsOf(line("a", 1) + line("b", 5), 9000)).toEqual([1000, 7000]);
  });

  it("keeps pods and the root cgroup of a cAdvisor page, drops empty labels, and believes near timestamps only", () => {
    const { metrics } = metricsOf(
      "cadvisor",
      `# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="",id="/",pod="",cpu="total"} 100 ${SCRAPE_MS - 1500}
container_cpu_usage_seconds_total{container="app",id="/kubepods/x",pod="p",namespace="n",cpu="total"} 3 1000
container_cpu_usage_seconds_total{container="",id="/system.slice/ssh",pod="",cpu="total"} 9
# TYPE machine_cpu_cores gauge
machine_cpu_cores 4
`,
    );
    expect(metrics[0]!.points).toEqual([
      { attributes: { id: "/" }, timeMs: SCRAPE_MS - 1500, value: 100 },
      {
        attributes: { namespace: "n", pod: "p", container: "app" },
        timeMs: SCRAPE_MS,
        value: 3,
      },
    ]);
    expect(metrics[1]).toMatchObject({ name: "machine_cpu_cores", kind: "gauge", points: [{ value: 4 }] });
  });

  it.each(["with timestamps", "without timestamps"])(
    "takes the memory of a container that was restarted for that of its successor, %s",
    (how) => {
      const memory = new TargetMemory({ kind: "cadvisor" });
      const row = (id: string, bytes: number, ageMs: number): string =>
        `container_memory_working_set_bytes{container="c",id="/kubepods/x/${id}",name="${id}",namespace="n",pod="p"} ${bytes}${how === "with timestamps" ? ` ${SCRAPE_MS - ageMs}` : ""}\n`;
      const levels = (...rows: string[]): unknown[] =>
        takePage(memory, `# TYPE container_memory_working_set_bytes gauge\n${rows.join("")}`, {
          scrapeMs: SCRAPE_MS,
        }).metrics.flatMap(({ points }) => points.map((point) => ("value" in point ? point.value : null)));
      const dead = row("old", 500, 60_000);
      expect(levels(dead)).toEqual([500]);
      expect(levels(dead, row("new", 100, 0))).toEqual([100]);
      expect(levels(row("new", 110, 0), dead)).toEqual([110]);
      expect(levels(row("new", 120, 0))).toEqual([120]);
    },
  );

  it("keeps the node's own interfaces, not pods' nor virtual ones, and gives their counters no start", () => {
    const memory = new TargetMemory({ kind: "cadvisor" });
    const page = (bytes: number): string => `# TYPE container_network_receive_bytes_total counter
container_network_receive_bytes_total{container="",id="/",image="",interface="eth0",name="",namespace="",pod=""} ${bytes} ${SCRAPE_MS}
container_network_receive_bytes_total{container="",id="/",interface="cni0"} 7
container_network_receive_bytes_total{container="",id="/",interface="lo"} 8
container_network_receive_bytes_total{container="",id="/",interface="veth1a2b3c4d"} 9
container_network_receive_bytes_total{container="",id="/",interface=""} 9
container_network_receive_bytes_total{container="POD",id="/kubepods/x",interface="eth0",namespace="n",pod="p"} 10
# TYPE container_network_transmit_bytes_total counter
container_network_transmit_bytes_total{id="/",interface="enp3s0"} 11
# TYPE container_network_receive_errors_total counter
container_network_receive_errors_total{id="/",interface="eth0"} 12
process_start_time_seconds ${SCRAPE_MS / 1000 - 60}
`;
    takePage(memory, page(5), { scrapeMs: SCRAPE_MS - 10_000 });
    const { metrics } = takePage(memory, page(6));
    expect(metrics).toEqual([
      {
        name: "container_network_receive_bytes_total",
        unit: "By",
        kind: "sum",
        temporality: "cumulative",
        monotonic: true,
        points: [{ attributes: { id: "/", interface: "eth0" }, timeMs: SCRAPE_MS, value: 6 }],
      },
      {
        name: "container_network_transmit_bytes_total",
        unit: "By",
        kind: "sum",
        temporality: "cumulative",
        monotonic: true,
        points: [{ attributes: { id: "/", interface: "enp3s0" }, timeMs: SCRAPE_MS, value: 11 }],
      },
    ]);
  });

  it("leaves out histograms whose rows don't fit together and counts them", () => {
    const memory = new TargetMemory({ kind: "istio", more: ["sizes"] });
    const { metrics, incompleteHistograms } = takePage(
      memory,
      `# TYPE sizes histogram
sizes_bucket{a="1",le="10"} 9
sizes_bucket{a="1",le="+Inf"} 3
sizes_sum{a="1"} 3
sizes_count{a="1"} 3
sizes_count{a="2"} 3
sizes_bucket{a="3",le="many"} 3
sizes_count{a="3"} 3
sizes_sum{a="3"} 3
sizes_bucket{a="4",le="1"} 1
`,
    );
    expect(metrics).toEqual([]);
    expect(incompleteHistograms).toBe(4);
  });

  it("keeps all labels and buckets of families that were added", () => {
    const memory = new TargetMemory({ kind: "istio", more: ["sizes"] });
    const { metrics } = takePage(
      memory,
      `# TYPE sizes histogram
sizes_bucket{a="1",le="100"} 3
sizes_bucket{a="1",le="1000"} 5
sizes_bucket{a="1",le="+Inf"} 6
sizes_sum{a="1"} 4200
sizes_count{a="1"} 6
`,
    );
    expect(metrics).toMatchObject([
      {
        name: "sizes",
        kind: "histogram",
        points: [
          {
            attributes: { a: "1" },
            count: 6,
            sum: 4200,
            explicitBounds: [100, 1000],
            bucketCounts: [3, 2, 1],
          },
        ],
      },
    ]);
  });

  it("takes a summary for a histogram without buckets", () => {
    const memory = new TargetMemory({ kind: "istio", more: ["took_seconds"] });
    const { metrics } = takePage(
      memory,
      `# TYPE took_seconds summary
took_seconds{quantile="0.5"} 1
took_seconds_sum 4
took_seconds_count 3
`,
    );
    expect(metrics).toMatchObject([
      { name: "took_seconds", unit: "s", points: [{ attributes: {}, count: 3, sum: 4 }] },
    ]);
  });

  it("reads OpenMetrics: seconds, families without their suffix, and when a counter was created", () => {
    const memory = new TargetMemory({ kind: "istio" });
    const created = SCRAPE_MS / 1000 - 30;
    const { metrics } = takePage(
      memory,
      `# TYPE istio_tcp_sent_bytes counter
istio_tcp_sent_bytes_total{reporter="source"} 7 ${SCRAPE_MS / 1000 - 1} # {trace_id="x"} 1
istio_tcp_sent_bytes_created{reporter="source"} ${created}
# EOF
`,
      { format: "openmetrics" },
    );
    expect(metrics).toMatchObject([
      {
        name: "istio_tcp_sent_bytes_total",
        kind: "sum",
        points: [{ startMs: created * 1000, timeMs: SCRAPE_MS - 1000, value: 7 }],
      },
    ]);
  });

  it("takes a counter that was created anew for one that began anew, even when it has grown beyond", () => {
    const memory = new TargetMemory({ kind: "istio" });
    const page = (value: number, created: number): string =>
      `istio_requests_total{reporter="source"} ${value}\nistio_requests_created{reporter="source"} ${created}\n# EOF\n`;
    takePage(memory, page(5, SCRAPE_MS / 1000 - 60), { format: "openmetrics" });
    const { metrics } = takePage(memory, page(9, SCRAPE_MS / 1000 + 1), {
      format: "openmetrics",
      scrapeMs: SCRAPE_MS + 10_000,
    });
    expect(metrics[0]!.points).toMatchObject([{ startMs: SCRAPE_MS, value: 9 }]);
  });

  it("leaves out values that are no use, and counts them", () => {
    const { metrics, unusableValues } = metricsOf(
      "cadvisor",
      'container_cpu_usage_seconds_total{id="/"} NaN\nmachine_cpu_cores +Inf\nmachine_memory_bytes 5\n',
    );
    expect(metrics.map(({ name }) => name)).toEqual(["machine_memory_bytes"]);
    expect(unusableValues).toBe(2);
  });

  it("escapes and repeats nothing: escaped labels are decoded, empty ones left out, of equal rows the last holds", () => {
    const memory = new TargetMemory({ kind: "istio", more: ["m"] });
    const { metrics } = takePage(memory, 'm{a="x\\"y\\\\\\nz",b=""} 1\nm{a="x\\"y\\\\\\nz",b=""} 2\n');
    expect(metrics[0]!.points).toMatchObject([{ attributes: { a: 'x"y\\\nz' }, value: 2 }]);
  });

  it("knows a row again whatever order its labels stand in", () => {
    const memory = new TargetMemory({ kind: "istio" });
    const orders = [
      'reporter="source",request_protocol="http",response_flags="-"',
      'response_flags="-",reporter="source",request_protocol="http"',
      ' request_protocol="http", reporter="source",response_flags="-",',
    ];
    const values = orders.map((labels, index) => {
      const { metrics } = takePage(memory, `istio_requests_total{${labels}} ${10 + index}\n`, {
        scrapeMs: SCRAPE_MS + index,
      });
      return metrics[0]!.points.map((point) => ("value" in point ? point.value : NaN));
    });
    expect(values).toEqual([[10], [11], [12]]);
    expect(memory.rows.keys.size).toBe(1);
  });

  it("says that there were too many samples, and forgets a page that is discarded", () => {
    const memory = new TargetMemory({ kind: "istio" });
    takePage(memory, istio(12));
    const { size } = memory.rows.keys;
    const page = new PageBuilder(memory, { scrapeMs: SCRAPE_MS + 10_000, maxSamples: 2 });
    const bytes = Buffer.from('{reporter="other"} 1');
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const name = Buffer.from("istio_requests_total");
    const found = page.find(new DataView(name.buffer, name.byteOffset, name.length), 0, name.length)!;
    for (let i = 0; i < 3; i++) page.sample(found, bytes, view, 0, bytes.length);
    expect(page.tooMany).toBe(true);
    page.discard();
    expect(memory.rows.keys.size).toBe(size);
    const { metrics } = takePage(memory, istio(13), { scrapeMs: SCRAPE_MS + 20_000 });
    expect(metrics[0]!.points).toMatchObject([{ value: 13 }]);
    expect(metrics[0]!.points[0]!.startMs).toBe(undefined);
  });

  it("forgets the rows that a page has no more", () => {
    const memory = new TargetMemory({ kind: "istio" });
    for (let round = 0; round < 20; round++) {
      const rows = Array.from(
        { length: 100 },
        (_, i) => `istio_requests_total{source_workload="w${round}-${i}"} 1`,
      );
      expect(
        takePage(memory, `${rows.join("\n")}\n`, { scrapeMs: SCRAPE_MS + round }).metrics[0]!.points,
      ).toHaveLength(100);
    }
    expect(memory.rows.keys.size).toBe(100);
    expect(memory.series.keys.size).toBe(100);
  });

  it("cuts a page into records of bounded size and loses nothing", () => {
    const memory = new TargetMemory({ kind: "istio", more: ["long"] });
    const rows = Array.from({ length: 1000 }, (_, i) => `long{a="${i}-${"x".repeat(3000)}"} ${i}`);
    const { records, metrics } = takePage(memory, `${rows.join("\n")}\n`);
    expect(records.length).toBeGreaterThan(4);
    expect(Math.max(...records.map(({ length }) => length))).toBeLessThan(1024 * 1024);
    expect(metrics[0]!.points).toHaveLength(1000);
  });
});
