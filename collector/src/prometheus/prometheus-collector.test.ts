import { TOPICS } from "@isochrone/telemetry";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { TestAuthority } from "../testing/certificates.ts";
import {
  closers,
  errorAnswer,
  json,
  matrix,
  nodesOf,
  pointsOf,
  run,
  serve,
  START_MS,
  type Respond,
} from "./testing/query-server.ts";

const QUERIES = 6;

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const BOMB = gzipSync(Buffer.alloc(50_000_000));

const CPU = {
  __name__: "container_cpu_usage_seconds_total",
  job: "kubelet",
  instance: "10.0.0.1:10250",
  node: "n1",
  namespace: "shop",
  pod: "web-1",
  container: "app",
};

describe("createPrometheusCollector", () => {
  it("asks a whole batch at one time and publishes each sample once, keyed by node", async () => {
    const baseMs = START_MS - 3000;
    const values = [0, 1000, 2000].map((ms) => [(baseMs + ms) / 1000, String(ms / 1000)]);
    const { url, asked } = await serve((response, { query }) =>
      json(matrix(query.includes('pod!=""') ? [{ metric: CPU, values }] : []))(response, asked[0]!),
    );
    const running = await run(url);
    await running.until(
      async () =>
        (await running.metric("queries_total", { result: "ok", query: "pods" })) >= 3 &&
        running.records.length > 0,
    );
    const rounds = Map.groupBy(
      asked.filter(({ query }) => !query.startsWith("up{")),
      ({ timeMs }) => timeMs,
    );
    expect([...rounds.values()][0]!.map(({ query }) => query.replace(/^.*\[/, "["))).toEqual(
      Array.from({ length: QUERIES }, () => "[5000ms]"),
    );
    expect(running.records.map(({ topic, key }) => [topic, key])).toEqual([[TOPICS.usage, "n1"]]);
    const { __name__: _, ...labels } = CPU;
    expect(pointsOf(running.records)).toEqual(
      values.map(([seconds, value]) => ({
        name: "container_cpu_usage_seconds_total",
        value: Number(value),
        timeMs: Math.round(Number(seconds) * 1000),
        attributes: labels,
        temporality: "cumulative",
      })),
    );
    expect(asked.some(({ query }) => query === 'up{job=~"kubelet"}[5000ms]')).toBe(true);
  });

  it("publishes names of a renaming scrape under cAdvisor's own, and of a level only the last value", async () => {
    const metric = {
      __name__: "container_memory_working_set_bytes",
      job: "nodes",
      instance: "n7",
      exported_namespace: "shop",
      exported_pod: "web-1",
      exported_container: "app",
      namespace: "kube-system",
      pod: "scraper",
    };
    const seconds = START_MS / 1000;
    const values = [
      [seconds - 2, "10"],
      [seconds - 1, "20"],
    ];
    const { url } = await serve((response, asked) =>
      json(matrix(asked.query.includes('pod!=""') ? [{ metric, values }] : []))(response, asked),
    );
    const prometheusTrustedPods = ["kube-system/scraper"];
    const running = await run(url, { prometheusPreset: "kubernetes-sd", prometheusTrustedPods });
    await running.until(() => running.records.length > 0);
    expect(running.records[0]!.key).toBe("n7");
    expect(nodesOf(running.records)).toEqual(["n7"]);
    expect(pointsOf(running.records)).toMatchObject([
      { value: 20, attributes: { namespace: "shop", pod: "web-1", container: "app", node: "n7" } },
    ]);
  });

  it("takes a kubelet's other page for the nodes whose cAdvisor page names no pods, and for them alone", async () => {
    const values = [[START_MS / 1000 - 1, "7"]];
    const series = (node: string, more: object) => ({ metric: { ...CPU, node, ...more }, values });
    const root = { id: "/", namespace: "", pod: "", container: "" };
    const { url } = await serve((response, asked) => {
      const { query } = asked;
      const result = query.includes("/metrics/resource")
        ? [series("n1", { container: "twice" }), series("n2", { container: "app" })]
        : query.includes('id="/"')
          ? [series("n1", root), series("n2", root)]
          : query.includes('pod!=""')
            ? [series("n1", {})]
            : [];
      json(matrix(result))(response, asked);
    });
    const running = await run(url);
    await running.until(
      async () =>
        (await running.metric("queries_total", { result: "ok", query: "resource" })) >= 2 &&
        nodesOf(running.records).includes("n2"),
    );
    const told = pointsOf(running.records).map(
      ({ attributes: { node, container, id } }) => `${String(node)} ${String(id ?? container)}`,
    );
    expect(told.toSorted()).toEqual(["n1 /", "n1 app", "n2 /", "n2 app"]);
  });

  it("leaves out series that their target may not tell of, counts them, and says once which they are", async () => {
    const seconds = START_MS / 1000 - 1;
    const forged = {
      __name__: "istio_requests_total",
      job: "envoy-stats",
      namespace: "evil",
      pod: "x-0",
      reporter: "source",
      source_workload: "web",
      source_workload_namespace: "shop",
      destination_workload: "vault",
      destination_workload_namespace: "bank",
    };
    const own = { ...forged, namespace: "shop", pod: "web-5d9c6-x7f2k" };
    const result = [forged, own].map((metric) => ({ metric, values: [[seconds, "2000000000"]] }));
    const { url } = await serve((response, asked) =>
      json(matrix(asked.query.includes('"istio_requests_total"') ? result : []))(response, asked),
    );
    const running = await run(url);
    await running.until(() => running.records.length > 0);
    expect(pointsOf(running.records)).toMatchObject([{ attributes: { pod: own.pod } }]);
    expect(
      await running.metric("series_refused_total", { query: "requests", reason: "not_an_end" }),
    ).toBeGreaterThan(0);
    expect(running.logger.lines.filter(({ event }) => event === "series are not taken")).toMatchObject([
      { fields: { namespace: "evil", pod: "x-0", source: "shop/web", destination: "bank/vault" } },
    ]);
  });

  const failures: readonly [string, Respond, string][] = [
    ["401", json("{}", 401), "unauthorized"],
    ["403 with a proxy's page", json("<html>", 403), "unauthorized"],
    ["400", json(errorAnswer("bad_data", "parse error"), 400), "bad_query"],
    ["422", json(errorAnswer("execution", "vector cannot contain"), 422), "bad_query"],
    [
      "422 for its samples",
      json(errorAnswer("execution", "query processing would load too many samples into memory"), 422),
      "too_many_samples",
    ],
    ["429", json("", 429), "overloaded"],
    ["503", json(errorAnswer("unavailable", "starting"), 503), "overloaded"],
    ["500", json("", 500), "http_status"],
    ["a redirect", json("", 302, { location: "http://127.0.0.1:1/" }), "http_status"],
    ["truncated JSON", json(matrix([]).slice(0, 20)), "malformed"],
    [
      "gzip that ends early",
      (response) => {
        const packed = gzipSync(matrix([{ metric: CPU, values: [[1, "2"]] }]));
        response.writeHead(200, { "content-encoding": "gzip" }).end(packed.subarray(0, -20));
      },
      "malformed",
    ],
    [
      "a connection that breaks off",
      (response) => {
        response.writeHead(200, { "content-length": "1000" }).write("{");
        setTimeout(() => response.destroy(), 5);
      },
      "connect",
    ],
    [
      "more bytes than allowed",
      json(matrix([{ metric: CPU, values: [[1, "2".repeat(200_000)]] }])),
      "too_large",
    ],
    [
      "a bomb that inflates",
      (response) => {
        response.writeHead(200, { "content-encoding": "gzip" }).end(BOMB);
      },
      "too_large",
    ],
    ["silence", () => undefined, "timeout"],
  ];
  it.each(failures)(
    "%s is counted as what it is, and the next answer is taken",
    async (_, respond, reason) => {
      let healthy = false;
      const { url } = await serve((response, asked) =>
        healthy ? json(matrix([]))(response, asked) : respond(response, asked),
      );
      const running = await run(url, reason === "timeout" ? { prometheusTimeoutMs: 300 } : {});
      await running.round();
      expect(await running.metric("failures_total", { reason })).toBe(QUERIES);
      expect(await running.metric("failures_total")).toBe(QUERIES);
      healthy = true;
      await running.until(
        async () => (await running.metric("queries_total", { result: "ok", query: "pods" })) > 0,
      );
      expect(running.records).toEqual([]);
    },
  );

  it("an address where nobody listens is counted, and logged once with its name", async () => {
    const running = await run("http://127.0.0.1:1");
    await running.until(async () => (await running.metric("failures_total", { reason: "connect" })) >= 8);
    expect(running.logger.lines.filter(({ event }) => event === "query returned nothing")).toHaveLength(
      QUERIES,
    );
    const errors = running.logger.lines.map(({ fields }) => String(fields["error"]));
    expect(errors[0]).toContain("http://127.0.0.1:1/api/v1/query");
  });

  it("a failed query fails alone", async () => {
    const metric = {
      __name__: "istio_requests_total",
      job: "istio",
      namespace: "shop",
      pod: "web-0",
      reporter: "source",
      source_workload: "web",
      source_workload_namespace: "shop",
    };
    const { url } = await serve((response, asked) =>
      asked.query.includes("istio_requests_total")
        ? json(matrix([{ metric, values: [[START_MS / 1000 - 1, "5"]] }]))(response, asked)
        : json("", 500)(response, asked),
    );
    const running = await run(url);
    await running.round();
    await running.until(() => running.records.length > 0);
    expect(running.records[0]!.topic).toBe(TOPICS.traffic);
    expect(await running.metric("failures_total", { query: "requests" })).toBe(0);
    expect(await running.metric("failures_total", { query: "pods" })).toBeGreaterThan(0);
  });

  it("warnings are counted and the answer is used", async () => {
    const { url } = await serve(json(matrix([], { warnings: ["store-2 is away"] })));
    const running = await run(url);
    await running.until(async () => (await running.metric("warnings_total", { query: "pods" })) > 0);
    expect(await running.metric("failures_total")).toBe(0);
    expect(JSON.stringify(running.logger.lines)).toContain("store-2 is away");
  });

  it("after an outage the next query reaches back to the last answer, but not further than allowed", async () => {
    let healthy = true;
    const { url, asked } = await serve((response, one) =>
      (healthy ? json(matrix([])) : json("", 500))(response, one),
    );
    const running = await run(url, { prometheusCatchUpMs: 5600 });
    const rounds = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) await running.round();
    };
    await rounds(2);
    healthy = false;
    await rounds(8);
    healthy = true;
    await rounds(2);
    const ranges = asked
      .filter(({ query }) => query.includes('pod!=""') && query.includes("/metrics/cadvisor"))
      .map(({ query }) => Number(/\[(\d+)ms\]/.exec(query)![1]));
    // Two answers; then the window plus the outage, up to 5600; then as before.
    expect(ranges).toEqual([5000, 5000, 5000, 5100, 5200, 5300, 5400, 5500, 5600, 5600, 5600, 5000]);
  });

  it("a server that asks for a pause gets it", async () => {
    const { url, asked } = await serve(json("", 429, { "retry-after": "60" }));
    const running = await run(url, { prometheusCatchUpMs: 1000 });
    await running.round();
    expect(await running.metric("failures_total", { reason: "overloaded" })).toBe(QUERIES);
    // As long as it may be without a loss: what was missed longer ago could not be asked for.
    for (let i = 0; i < 9; i++) await running.round();
    expect(asked).toHaveLength(QUERIES);
    await running.round();
    expect(asked).toHaveLength(2 * QUERIES);
  });

  it("sends the token or the password as they are now, the tenant, and shows none of them", async () => {
    const folder = mkdtempSync(join(tmpdir(), "isochrone-prometheus-"));
    closers.push(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "secret");
    writeFileSync(file, "first-secret\n");
    const { url, asked } = await serve(json("", 401));
    const running = await run(url, { prometheusTokenFile: file, prometheusTenant: "team-a" });
    await running.until(() => asked.length > 0);
    expect(asked[0]!.headers).toMatchObject({
      authorization: "Bearer first-secret",
      "x-scope-orgid": "team-a",
    });
    writeFileSync(file, "second-secret");
    await running.until(() => asked.at(-1)!.headers.authorization === "Bearer second-secret");
    rmSync(file);
    await running.until(async () => (await running.metric("failures_total", { reason: "credentials" })) > 0);
    expect(JSON.stringify(running.logger.lines)).not.toContain("secret\n");
    expect(JSON.stringify(running.logger.lines)).not.toMatch(/first-secret|second-secret/);
  });

  it("basic authentication takes the user and the password's file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "isochrone-prometheus-"));
    closers.push(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "password"), "pass word");
    const { url, asked } = await serve(json(matrix([])));
    const running = await run(url, {
      prometheusUsername: "me",
      prometheusPasswordFile: join(folder, "password"),
    });
    await running.until(() => asked.length > 0);
    expect(asked[0]!.headers.authorization).toBe(`Basic ${Buffer.from("me:pass word").toString("base64")}`);
  });
});

describe("TLS", () => {
  it("takes a certificate of the given authority, no other, unless told so", async () => {
    const authority = new TestAuthority();
    const folder = mkdtempSync(join(tmpdir(), "isochrone-prometheus-"));
    closers.push(() => authority.remove());
    closers.push(() => rmSync(folder, { recursive: true }));
    const server = createSecureServer(authority.issue("IP:127.0.0.1"), (request, response) => {
      request.resume();
      response.end(matrix([]));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closers.push(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const caFile = join(folder, "ca.crt");
    writeFileSync(caFile, authority.pem);
    const refused = await run(url);
    await refused.until(async () => (await refused.metric("failures_total", { reason: "tls" })) >= QUERIES);
    expect(await refused.metric("queries_total", { result: "ok" })).toBe(0);
    const trusting = await run(url, { prometheusCaFile: caFile });
    await trusting.until(async () => (await trusting.metric("queries_total", { result: "ok" })) >= QUERIES);
    const careless = await run(url, { prometheusInsecureSkipVerify: true });
    await careless.until(async () => (await careless.metric("queries_total", { result: "ok" })) >= QUERIES);
    expect(careless.logger.lines[0]!.event).toBe("the certificate of Prometheus is not verified");
  });
});
