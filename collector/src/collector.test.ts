import { createRegistry } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { MetricsDecoder, TOPICS } from "@isochrone/telemetry";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { createCollector } from "./collector.ts";
import { kubeletTargets } from "./discovery/kubelet.ts";
import { createCollectorMetrics } from "./metrics.ts";
import type { PageReader } from "./ports/ports.ts";
import { STAND_IN_AFTER } from "./scrape-plan.ts";
import { TestAuthority } from "./testing/certificates.ts";
import { CollectorTests, istioAt, testConfig } from "./testing/collector-tests.ts";
import { kubelet, page, serve } from "./testing/servers.ts";

const GOOD = `# TYPE istio_requests_total counter
istio_requests_total{reporter="source",source_workload="m0",destination_workload="m1"} 7
`;

const tests = new CollectorTests();
afterEach(() => tests.end());
const run = tests.run.bind(tests);
const serving = tests.serving.bind(tests);

const failures = "isochrone_collector_scrape_failures_total";

describe("createCollector", () => {
  it("publishes what a page says as OTLP, keyed by node, with headers", async () => {
    const running = await run(istioAt([await serving(page(GOOD))]));
    await running.until(() => running.records.length > 0);
    const [record] = running.records;
    expect(record).toMatchObject({ topic: TOPICS.traffic, key: "n1" });
    expect(record!.headers).toMatchObject({ "isochrone-source": "collector/n1" });
    const seen: unknown[] = [];
    new MetricsDecoder().decode(record!.value, {
      number: ({ name, attributes, resource, temporality, monotonic }, _, __, value) =>
        void seen.push({
          name,
          value,
          temporality,
          monotonic,
          workload: attributes["destination_workload"],
          node: resource["k8s.node.name"],
        }),
      histogram: () => undefined,
      exponentialHistogram: () => undefined,
      refused: (reason) => void seen.push(reason),
    });
    expect(seen).toEqual([
      {
        name: "istio_requests_total",
        value: 7,
        temporality: "cumulative",
        monotonic: true,
        workload: "m1",
        node: "n1",
      },
    ]);
  });

  it.each<[string, string, RequestListener]>([
    ["hangs", "timeout", () => undefined],
    ["answers 500", "http_status", (_, response) => void response.writeHead(500).end()],
    ["lies in its content type", "not_metrics", page("<html>\n<body>\n</body>\n".repeat(100))],
    ["is binary", "not_metrics", page("\u0000\u0001\u0002\n".repeat(100))],
    [
      "hides 100 MB behind compression",
      "too_large",
      (_, response) => {
        response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
        response.end(BOMB);
      },
    ],
    [
      "has too many samples",
      "too_many_samples",
      page(Array.from({ length: 1500 }, (_, i) => `istio_requests_total{a="${i}"} 1`).join("\n")),
    ],
  ])(
    "bounds a page that %s, counts it, names it once, and goes on with the others",
    async (_, reason, listener) => {
      const bad = await serving(listener);
      const running = await run(istioAt([bad, await serving(page(GOOD))]));
      await running.until(async () => (await running.metric(failures, { reason })) >= 2);
      const before = running.records.length;
      await running.until(() => running.records.length >= before + 2);
      const told = running.logger.lines.filter(
        ({ event, fields }) => event === "page not taken" && fields["reason"] === reason,
      );
      expect(told).toHaveLength(1);
    },
  );

  it("leaves out rows about others of a pod's page, counts them, and says once which they are", async () => {
    const forged =
      'istio_requests_total{reporter="source",source_workload="victim",source_workload_namespace="bank",destination_workload="db"} 2e9\n';
    const own =
      'istio_requests_total{reporter="source",source_workload="web",source_workload_namespace="shop",destination_workload="db"} 7\n';
    const url = await serving(page(`# TYPE istio_requests_total counter\n${forged}${own}`));
    const scope = { of: "pod", namespace: "shop", workloads: ["web"], serves: [] } as const;
    const running = await run([{ kind: "istio", url, instance: "shop/web-0", namespace: "shop", scope }]);
    const refused = "isochrone_collector_rows_refused_total";
    await running.until(
      async () => (await running.metric(refused, { kind: "istio", reason: "not_an_end" })) >= 2,
    );
    expect(await running.metric("isochrone_collector_samples_total", { kind: "istio" })).toBeGreaterThan(0);
    expect(running.records.some(({ value }) => Buffer.from(value).includes("victim"))).toBe(false);
    expect(
      running.logger.lines.filter(({ event }) => event === "rows of a page are not taken"),
    ).toMatchObject([
      {
        fields: {
          instance: "shop/web-0",
          reason: "not_an_end",
          metric: "istio_requests_total",
          source: "bank/victim",
          destination: "/db",
        },
      },
    ]);
  });

  it("refuses pages of a namespace whose pages take more than its share of memory", async () => {
    const rows = (count: number): string =>
      Array.from(
        { length: count },
        (_, i) =>
          `istio_requests_total{reporter="source",source_workload="a",source_workload_namespace="evil",destination_workload="w${i}",destination_service="${"x".repeat(900)}"} 1\n`,
      ).join("");
    const evil = await serving(page(rows(200)));
    const good = await serving(page(GOOD));
    const scope = { of: "pod", namespace: "evil", workloads: ["a"], serves: [] } as const;
    const running = await run(
      [
        ...Array.from({ length: 4 }, (_, i) => ({
          kind: "istio" as const,
          url: evil,
          instance: `evil/a-${i}`,
          namespace: "evil",
          scope,
        })),
        { kind: "istio", url: good, instance: "shop/web-0", namespace: "shop" },
      ],
      { maxKeptBytes: 300_000 },
    );
    await running.until(async () => (await running.metric(failures, { reason: "namespace_share" })) >= 2);
    const before = await running.metric("isochrone_collector_samples_total", { kind: "istio" });
    await running.until(
      async () => (await running.metric("isochrone_collector_samples_total", { kind: "istio" })) > before,
    );
    expect(running.logger.lines.filter(({ fields }) => fields["instance"] === "shop/web-0")).toEqual([]);
  });

  it("reads a kubelet with token and verified certificate, its usage under a topic of its own", async () => {
    const authority = new TestAuthority();
    const folder = mkdtempSync(join(tmpdir(), "isochrone-service-account-"));
    const files = { kubeletCaFile: join(folder, "ca.crt"), kubeletTokenFile: join(folder, "token") };
    writeFileSync(files.kubeletCaFile, authority.pem);
    writeFileSync(files.kubeletTokenFile, "secret");
    const usage = `# TYPE node_cpu_usage_seconds_total counter\nnode_cpu_usage_seconds_total 12.5\n`;
    const server = await serve(
      kubelet(() => "secret", usage),
      authority.issue("IP:127.0.0.1"),
    );
    tests.atEnd(async () => {
      authority.remove();
      rmSync(folder, { recursive: true });
      await server.close();
    });
    const url = `${server.url}/metrics/resource`;
    const running = await run(
      [{ kind: "resource", role: "kubelet", url, instance: "kubelet/n1", access: "kubelet" }],
      files,
    );
    await running.until(() => running.records.length > 0);
    expect(running.records[0]).toMatchObject({ topic: TOPICS.usage, key: "n1" });
    expect(await running.metric("isochrone_collector_tls_unverified", {})).toBe(0);
    expect(
      await running.metric("isochrone_collector_page_bytes_total", { kind: "resource" }),
    ).toBeGreaterThan(50);
    expect(JSON.stringify(running.logger.lines)).not.toContain("secret");
  });

  const CPU = "container_cpu_usage_seconds_total";
  const NAMED = `${CPU}{cpu="total",id="/kubepods/p/c",name="c",namespace="shop",pod="web-1",container="web"} 1\n`;
  const ROOT = `${CPU}{cpu="total",id="/",image="",name=""} 9\n`;
  const UNNAMED = `${CPU}{cpu="total",id="/kubepods/burstable/pod1/c",image="web:1",name="k8s_web_web-1_shop_1_0"} 1\n`;
  const failing: RequestListener = (_, response) => void response.writeHead(500).end();

  it.each<[string, RequestListener, number]>([
    ["keeps failing", failing, 1],
    ["has no containers, as on Windows", page("machine_cpu_cores 4\ncontainer_scrape_error 1\n"), 0],
    ["has the node alone", page(ROOT), 0],
    ["names no pods", page(ROOT + UNNAMED), 0],
    ["doesn't name all pods", page(ROOT + NAMED + UNNAMED), 0],
    ["says that it failed in part", page(`${ROOT}${NAMED}container_scrape_error 1\n`), 0],
  ])("reads the kubelet's other page while the first %s", async (_, bad, failingPages) => {
    const usage = `# TYPE ${CPU} counter\n${CPU}{namespace="shop",pod="web-1",container="web"} 1\n`;
    let isBad = true;
    const server = await serve((request, response) => {
      if (request.url === "/metrics/resource") return page(usage)(request, response);
      if (isBad) return bad(request, response);
      return page(`${ROOT}${NAMED}container_scrape_error 0\n`)(request, response);
    });
    tests.atEnd(() => server.close());
    const options = {
      pages: ["cadvisor", "resource"],
      scheme: "http",
    } as const;
    const running = await run(kubeletTargets("n1", "127.0.0.1", server.port, options));
    const cadvisor = { kind: "cadvisor" };
    const read = (kind: string): Promise<number> =>
      running.metric("isochrone_collector_scrapes_total", { kind, result: "ok" });
    await running.until(async () => (await read("resource")) > 0);
    const bads = (await read("cadvisor")) + (await running.metric(failures, cadvisor));
    expect(bads).toBeGreaterThanOrEqual(STAND_IN_AFTER);
    expect(await running.metric("isochrone_collector_targets_failing", cadvisor)).toBe(failingPages);
    expect(await running.metric("isochrone_collector_targets_incomplete", cadvisor)).toBe(1 - failingPages);
    isBad = false;
    const bad0 = await read("cadvisor");
    await running.until(async () => (await read("cadvisor")) > bad0 + 1);
    const before = await read("resource");
    await running.until(async () => (await read("cadvisor")) > bad0 + 4);
    expect(await read("resource")).toBeLessThanOrEqual(before + 1);
    expect(await running.metric("isochrone_collector_targets_incomplete", cadvisor)).toBe(0);
  });

  it("says at its start, and in its metrics, that certificates are not verified", async () => {
    const running = await run([], { kubeletInsecureSkipVerify: true });
    expect(running.logger.events("warn")).toEqual([
      expect.stringContaining("certificates of kubelets are not verified"),
    ]);
    expect(await running.metric("isochrone_collector_tls_unverified", {})).toBe(1);
  });

  it("begins at a random point of its interval, and adds up with other collectors of the process", async () => {
    const clock = new ManualClock();
    const registry = createRegistry();
    const metrics = createCollectorMetrics(registry);
    const begun: number[] = [];
    const reader: PageReader = {
      async read(_, options) {
        begun.push(clock.monotonic());
        options.onBytes(Buffer.from(GOOD));
      },
    };
    const collectors = [0.9, 0.1].map((share) =>
      createCollector(testConfig({ intervalMs: 10_000, timeoutMs: 5_000 }), {
        bus: { publish: async () => undefined },
        targets: { targets: () => istioAt(["http://a/"]) },
        clock,
        random: { next: () => share },
        logger: new MemoryLogger(),
        registry,
        metrics,
        reader,
      }),
    );
    for (const collector of collectors) await collector.start();
    await clock.advance(25_000);
    expect(begun).toEqual([1_000, 9_000, 11_000, 19_000, 21_000]);
    const targets = async (): Promise<number> => {
      const { values } = await metrics.targets.get();
      return values.reduce((sum, { value }) => sum + value, 0);
    };
    expect(await targets()).toBe(2);
    for (const collector of collectors) await collector.stop();
    expect(await targets()).toBe(0);
  });

  it("counts a target that isn't there", async () => {
    const running = await run(istioAt(["http://127.0.0.1:1/metrics"]));
    await running.until(async () => (await running.metric(failures, { reason: "connect" })) > 0);
    expect(running.records).toEqual([]);
  });
});

const BOMB = gzipSync(Buffer.alloc(100 * 1024 * 1024, "x 1\n"));
