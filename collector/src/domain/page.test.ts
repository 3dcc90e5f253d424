import type { Metric } from "@isochrone/telemetry";
import { describe, expect, it } from "vitest";
import { ExpositionReader } from "./exposition.ts";
import { PageBuilder } from "./page.ts";
import { batchesOf } from "./records.ts";
import { StartTimes } from "./start-times.ts";
import type { TargetKind } from "./families.ts";

const SCRAPE_MS = 1_700_000_000_000;

function metricsOf(
  kind: TargetKind,
  text: string,
  startTimes = new StartTimes(1000),
  scrapeMs = SCRAPE_MS,
): { metrics: Metric[]; page: PageBuilder } {
  const page = new PageBuilder(kind, scrapeMs, 1000);
  const reader = new ExpositionReader(page);
  reader.feed(text);
  reader.end();
  return { metrics: page.finish(startTimes), page };
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

describe("PageBuilder", () => {
  it("turns Istio counters into cumulative sums and buckets into counts per bucket", () => {
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
            explicitBounds: [100, 1000],
            bucketCounts: [3, 2, 1],
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
    const starts = new StartTimes(1000);
    const line = (workload: string, value: number): string =>
      `istio_requests_total{destination_workload="${workload}"} ${value}\n`;
    const startsOf = (text: string, atMs: number): unknown[] =>
      metricsOf("istio", text, starts, atMs).metrics[0]!.points.map(({ startMs }) => startMs);
    expect(startsOf(line("a", 5), 1000)).toEqual([undefined]);
    expect(startsOf(line("a", 6) + line("b", 2), 3000)).toEqual([undefined, 1000]);
    expect(startsOf(line("a", 1) + line("b", 3), 5000)).toEqual([3000, 1000]);
    expect(startsOf(line("b", 4), 7000)).toEqual([1000]);
    expect(startsOf(line("a", 1) + line("b", 5), 9000)).toEqual([7000, 1000]);
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
      { attributes: { id: "/", cpu: "total" }, timeMs: SCRAPE_MS - 1500, value: 100 },
      {
        attributes: { container: "app", id: "/kubepods/x", pod: "p", namespace: "n", cpu: "total" },
        timeMs: SCRAPE_MS,
        value: 3,
      },
    ]);
    expect(metrics[1]).toMatchObject({ name: "machine_cpu_cores", kind: "gauge", points: [{ value: 4 }] });
  });

  it("leaves out histograms whose rows don't fit together and counts them", () => {
    const { metrics, page } = metricsOf(
      "istio",
      `# TYPE istio_request_bytes histogram
istio_request_bytes_bucket{a="1",le="10"} 9
istio_request_bytes_bucket{a="1",le="+Inf"} 3
istio_request_bytes_sum{a="1"} 3
istio_request_bytes_count{a="1"} 3
istio_request_bytes_count{a="2"} 3
`,
    );
    expect(metrics).toEqual([]);
    expect(page.faults.incompleteHistograms).toBe(2);
  });
});

describe("batchesOf", () => {
  it("cuts a page into batches of at most so many points and loses none", () => {
    const points = Array.from({ length: 7 }, (_, value) => ({ attributes: {}, timeMs: 1, value }));
    const metrics: Metric[] = [
      { name: "a", kind: "gauge", points },
      { name: "b", kind: "gauge", points: points.slice(0, 2) },
    ];
    const batches = batchesOf({ node: "n" }, metrics, 4);
    expect(
      batches.map((batch) => batch.metrics.map(({ name, points }) => `${name}${points.length}`)),
    ).toEqual([["a4"], ["a3", "b1"], ["b1"]]);
  });
});
