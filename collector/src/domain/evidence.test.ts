// Recorded pages of real programs: see test/data/pages/README.md.
import type { Metric } from "@isochrone/telemetry";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { TargetMemory } from "./target-memory.ts";
import { readPage } from "./testing/read-page.ts";
import { referenceSamples } from "./testing/reference-parser.ts";
import { takePage } from "./testing/take-page.ts";

const page = (name: string): string =>
  readFileSync(join(import.meta.dirname, "../../../test/data/pages", name), "utf8");

function pointsOf(metrics: readonly Metric[], name: string): readonly Record<string, unknown>[] {
  return metrics
    .filter((metric) => metric.name === name)
    .flatMap(({ points }) => points.map(({ attributes }) => attributes));
}

describe("pages of real programs", () => {
  it.each(["cadvisor.txt", "envoy.txt", "kubelet-resource.txt", "otel-servicegraph-0.152.0.prom"])(
    "reads every line of %s as a simple parser does",
    (name) => {
      const text = page(name);
      const read = readPage([text]);
      expect(read.firstFault).toBe(null);
      expect(read.samples.length).toBeGreaterThan(10);
      expect(read.samples).toEqual(referenceSamples(text, "text"));
    },
  );

  it("takes the node, pods and containers of cAdvisor's page, and neither pause containers nor parents of pods", () => {
    const text = page("cadvisor.txt");
    const scrapeMs = Number(/container_cpu_usage_seconds_total\{.* (\d{13})$/m.exec(text)![1]);
    const { metrics, unusableValues } = takePage(new TargetMemory({ kind: "cadvisor" }), text, { scrapeMs });
    expect(unusableValues).toBe(0);
    const [web, db] = [
      { namespace: "shop", pod: "web-7d4b9c6f5-x2x8p" },
      { namespace: "shop", pod: "db-0" },
    ];
    const expected = [{ id: "/" }, web, db, { ...web, container: "app" }, { ...db, container: "app" }];
    expect(pointsOf(metrics, "container_cpu_usage_seconds_total")).toEqual(expected);
    expect(new Set(pointsOf(metrics, "container_memory_working_set_bytes"))).toEqual(new Set(expected));
    expect(pointsOf(metrics, "machine_cpu_cores")).toEqual([{}]);
    expect(pointsOf(metrics, "machine_memory_bytes")).toEqual([{}]);
  });

  it("takes containers and the node of the kubelet's resource page, and no sums that contain them", () => {
    const { metrics } = takePage(new TargetMemory({ kind: "resource" }), page("kubelet-resource.txt"), {
      scrapeMs: 1_624_396_279_000,
    });
    expect(metrics.map(({ name, kind, points }) => [name, kind, points.length])).toEqual([
      ["container_cpu_usage_seconds_total", "sum", 3],
      ["container_memory_working_set_bytes", "gauge", 3],
      ["node_cpu_usage_seconds_total", "sum", 1],
      ["node_memory_working_set_bytes", "gauge", 1],
    ]);
    expect(metrics[0]!.points[0]).toMatchObject({
      attributes: { namespace: "namespace_a", pod: "pod_a", container: "container_a" },
      timeMs: 1_624_396_278_302,
      value: 10,
    });
  });

  it("keeps nothing of an Envoy that is not Istio's", () => {
    const { records, samples } = takePage(new TargetMemory({ kind: "istio" }), page("envoy.txt"));
    expect(samples).toBe(0);
    expect(records).toEqual([]);
  });

  it("reads Envoy's histograms whole when it is told to", () => {
    const memory = new TargetMemory({ kind: "istio", more: ["envoy_cluster_upstream_rq_time"] });
    const { metrics, incompleteHistograms } = takePage(memory, page("envoy.txt"));
    expect(incompleteHistograms).toBe(0);
    expect(metrics).toMatchObject([
      { kind: "histogram", points: [{ attributes: { envoy_cluster_name: "app" }, count: 50 }] },
    ]);
  });

  it("takes the requests between services of a service graph", () => {
    const { metrics } = takePage(
      new TargetMemory({ kind: "service_graph" }),
      page("otel-servicegraph-0.152.0.prom"),
    );
    expect(metrics.map(({ name, kind }) => [name, kind])).toEqual([
      ["traces_service_graph_request_total", "sum"],
      ["traces_service_graph_request_failed_total", "sum"],
      ["traces_service_graph_request_client_seconds", "histogram"],
      ["traces_service_graph_request_server_seconds", "histogram"],
    ]);
  });
});
