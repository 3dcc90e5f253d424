import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BandwidthLeaseAnswerSchema, ProbePlanSchema, type ProbePlan } from "@isochrone/topology";
import type { BandwidthLeaseAnswer } from "@isochrone/topology/testing";
import { Value } from "typebox/value";
import { afterEach, describe, expect, test } from "vitest";
import { MemoryKeyStore } from "../testing/memory-key-store.ts";
import type { AggregatorDependencies } from "../dependencies.ts";
import { startAggregator, type RunningAggregator } from "../testing/aggregator.ts";
import { fill, nodeObject, podObject } from "../testing/cluster.ts";

const PROBE_LABELS = { "app.kubernetes.io/name": "isochrone-probe" };

let running: RunningAggregator | null = null;

afterEach(async () => {
  await running?.stop();
  running = null;
});

async function start(
  count: number,
  settings: Readonly<Record<string, unknown>> = {},
  parts: Partial<AggregatorDependencies> = {},
  zoneOf: (index: number) => string = (index) => `z${index % 3}`,
): Promise<RunningAggregator> {
  running = await startAggregator({ settings, parts });
  for (let index = 0; index < count; index++) {
    const name = nameOf(index);
    const ip = `10.0.${Math.floor(index / 250)}.${(index % 250) + 1}`;
    await fill(running.store, [
      nodeObject(name, zoneOf(index)),
      podObject("isochrone", `probe-${name}`, name, { labels: PROBE_LABELS, ip }),
    ]);
  }
  await running.clock.advance(10);
  return running;
}

const nameOf = (index: number): string => `n${String(index).padStart(2, "0")}`;

async function getPlan(
  { aggregator }: RunningAggregator,
  node: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const answer = await aggregator.app.inject({ url: `/api/v1/probe-plan/${node}`, headers });
  const body = JSON.parse(answer.body || "null") as ProbePlan & { code?: string; detail?: string };
  const { etag, "retry-after": retryAfter } = answer.headers;
  return { status: answer.statusCode, body, etag: String(etag), retryAfter };
}

async function askLease({ aggregator }: RunningAggregator, payload: unknown) {
  const answer = await aggregator.app.inject({
    method: "POST",
    url: "/api/v1/bandwidth-leases",
    headers: { "content-type": "application/json" },
    payload: typeof payload === "string" ? payload : JSON.stringify(payload),
  });
  return { status: answer.statusCode, body: answer.json<BandwidthLeaseAnswer & { code?: string }>() };
}

const metricsOf = async ({ aggregator }: RunningAggregator): Promise<string> =>
  (await aggregator.app.inject("/metrics")).body;

describe("probe plans of a large cluster", () => {
  test("have the peers by hash, a peer in each zone, and where bursts are taken", async () => {
    const cluster = await start(60, {}, {}, (index) => (index === 0 ? "edge" : `z${index % 3}`));
    const { body } = await getPlan(cluster, "n07");
    expect(Value.Check(ProbePlanSchema, body)).toBe(true);
    expect(body.peers.length).toBeGreaterThanOrEqual(10);
    expect(body.peers.length).toBeLessThanOrEqual(13);
    expect(body.signingKeyId).toBeNull();
    expect(body.peers[0]).toMatchObject({ udpPort: 7411, tcpPort: 7411, bandwidthPort: 7413 });
    const metrics = await metricsOf(cluster);
    expect(metrics).toMatch(/isochrone_aggregator_probe_pairs 6\d\d\n/);
    expect(metrics).toMatch(/isochrone_aggregator_probe_max_in_degree (2\d|30)\n/);
    expect(metrics).toMatch(/probe_uncovered_zones\{reason="in_degree"\} [1-9]\d*\n/);
  });

  test("keep their version until the peers change, and change one peer a window", async () => {
    const cluster = await start(60, { probeRotationMs: 300_000 });
    const first = await getPlan(cluster, "n07");
    await cluster.clock.advance(1_000);
    expect((await getPlan(cluster, "n07", { "if-none-match": first.etag })).status).toBe(304);
    expect(first.retryAfter).toBeUndefined();
    cluster.clock.stepWall(300_000);
    const second = await getPlan(cluster, "n07", { "if-none-match": first.etag });
    expect(second.status).toBe(200);
    const before = first.body.peers.map(({ node }) => node);
    expect(second.body.peers.filter(({ node }) => !before.includes(node))).toHaveLength(1);
  });

  test("a node that is being deleted is in nobody's plan", async () => {
    const cluster = await start(40);
    const before = await getPlan(cluster, "n07");
    const gone = before.body.peers[0]!.node;
    await cluster.store.patch(
      { apiVersion: "v1", kind: "Node", name: gone },
      { metadata: { finalizers: ["example.com/drain"] } },
    );
    await cluster.store.delete({ apiVersion: "v1", kind: "Node", name: gone });
    await cluster.clock.advance(10);
    for (let index = 0; index < 40; index++) {
      const { body } = await getPlan(cluster, nameOf(index));
      expect(body.peers.map(({ node }) => node)).not.toContain(gone);
    }
  });

  test("that can't be given yet are asked for again at different times", async () => {
    const cluster = await start(40);
    const pods = Array.from({ length: 40 }, (_, index) => `probe-${nameOf(index)}`);
    for (const name of pods)
      await cluster.store.delete({ apiVersion: "v1", kind: "Pod", namespace: "isochrone", name });
    await cluster.clock.advance(10);
    const waits = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const { statusCode, headers } = await cluster.aggregator.app.inject(
          `/api/v1/probe-plan/${nameOf(index)}`,
        );
        return statusCode === 503 ? Number(headers["retry-after"]) : Number.NaN;
      }),
    );
    expect(new Set(waits)).toEqual(new Set([1, 2, 3, 4, 5]));
  });

  test("bursts can be switched off", async () => {
    const cluster = await start(3, { probeBandwidthPort: 0 });
    expect((await getPlan(cluster, "n00")).body.peers[0]!.bandwidthPort).toBeNull();
    await cluster.clock.advance(30_000);
    expect((await askLease(cluster, { node: "n00" })).body.lease).toBeNull();
    expect(await metricsOf(cluster)).toContain('leases_denied_total{reason="no_target"} 1');
  });
});

describe("keys of packet authentication", () => {
  const settings = { keyRotationMs: 60_000, keyCheckMs: 1_000, keyReportMaxAgeMs: 20_000, keyGraceMs: 4_000 };
  const nodes = ["n00", "n01", "n02"];

  test("are made, published, used and retired as the probes' reports say", async () => {
    const keyStore = new MemoryKeyStore();
    const cluster = await start(3, settings, { keyStore });
    const held = async () => (await keyStore.read()).set!.keys.map(({ id }) => id);
    const report = async (keys: string): Promise<(number | null)[]> =>
      Promise.all(
        nodes.map(
          async (node) => (await getPlan(cluster, node, { "isochrone-probe-keys": keys })).body.signingKeyId,
        ),
      );

    expect(await report("1;signing=1")).toEqual([1, 1, 1]);
    await cluster.clock.advance(61_000);
    expect(await held()).toEqual([1, 2]);
    expect(await report("1;signing=1")).toEqual([1, 1, 1]);
    await cluster.clock.advance(10_000);
    expect(await metricsOf(cluster)).toContain("isochrone_aggregator_probe_key_awaited_probes 3");
    await report("1,2;signing=1");
    await cluster.clock.advance(2_000);
    expect(await report("1,2;signing=1")).toEqual([2, 2, 2]);
    await cluster.clock.advance(10_000);
    expect(await held()).toEqual([1, 2]);
    await report("1,2;signing=2");
    await cluster.clock.advance(10_000);
    expect(await held()).toEqual([2]);
    expect(await metricsOf(cluster)).toContain("isochrone_aggregator_probe_key_rotations_total 1");
  });

  test("one probe with an address that says nothing holds the next key back", async () => {
    const keyStore = new MemoryKeyStore();
    const cluster = await start(3, settings, { keyStore });
    await cluster.clock.advance(61_000);
    for (const node of ["n00", "n01"])
      await getPlan(cluster, node, { "isochrone-probe-keys": "1,2;signing=1" });
    await cluster.clock.advance(60_000);
    expect((await getPlan(cluster, "n02")).body.signingKeyId).toBe(1);
    await cluster.store.delete({ apiVersion: "v1", kind: "Pod", namespace: "isochrone", name: "probe-n02" });
    await cluster.clock.advance(60_000);
    expect((await getPlan(cluster, "n00")).body.signingKeyId).toBe(2);
  });

  test("while they can't be read no plan is given: a probe must not be told to sign with something else", async () => {
    const away = {
      read: () => Promise.reject(new Error("away")),
      write: () => Promise.reject(new Error("away")),
    };
    const cluster = await start(3, settings, { keyStore: away });
    expect(await getPlan(cluster, "n00")).toMatchObject({ status: 503, body: { code: "keys_not_read" } });
    const ready = await cluster.aggregator.app.inject("/readyz");
    expect(ready.json()).toMatchObject({ reasons: ["waiting for the keys of packet authentication"] });
  });

  test("a report that can't be read is refused, and named", async () => {
    const cluster = await start(3, settings, { keyStore: new MemoryKeyStore() });
    const bad = await getPlan(cluster, "n00", { "isochrone-probe-keys": "1;signing=2" });
    expect(bad).toMatchObject({ status: 400, body: { code: "bad_probe_keys" } });
    expect(bad.body.detail).toContain('got "1;signing=2"');
    const long = await getPlan(cluster, "n00", { "isochrone-probe-keys": "1".repeat(5_000) });
    expect(long.status).toBe(400);
  });

  test("stand in the Secret that the settings name", async () => {
    const cluster = await start(3, { hmacKeysSecret: "isochrone/probe-keys" });
    const secret = await cluster.store.get({
      apiVersion: "v1",
      kind: "Secret",
      namespace: "isochrone",
      name: "probe-keys",
    });
    const keys = Buffer.from((secret!["data"] as Record<string, string>)["hmac-keys"]!, "base64").toString();
    expect(keys).toMatch(/^1:[A-Za-z0-9+/]{43}=\n$/);
    const { body } = await getPlan(cluster, "n00");
    expect(body.signingKeyId).toBe(1);
    const everything = JSON.stringify([cluster.logger.lines, body, await metricsOf(cluster)]);
    expect(everything).not.toContain(keys.slice(2, 30));
  });

  test("stand in the file that the settings name, where probes of this machine read them", async () => {
    const folder = await mkdtemp(join(tmpdir(), "isochrone-aggregator-"));
    try {
      const cluster = await start(3, { hmacKeysFile: join(folder, "keys") });
      expect(await readFile(join(folder, "keys"), "utf8")).toMatch(/^1:[A-Za-z0-9+/]{43}=\n$/);
      expect((await getPlan(cluster, "n00")).body.signingKeyId).toBe(1);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("bandwidth leases", () => {
  test("are given, kept apart and given back", async () => {
    const cluster = await start(3);
    expect((await askLease(cluster, { node: "n00" })).body).toMatchObject({ lease: null });
    await cluster.clock.advance(30_000);
    const { status, body } = await askLease(cluster, { node: "n00" });
    expect(status).toBe(200);
    expect(Value.Check(BandwidthLeaseAnswerSchema, body)).toBe(true);
    expect(["n01", "n02"]).toContain(body.lease!.target);
    expect(body.lease).toMatchObject({ expiresInMs: 30_000, maxBytes: 134_217_728 });
    const again = await askLease(cluster, { node: "n00" });
    expect(again.body.lease).toBeNull();
    expect(again.body.retryAfterMs).toBeGreaterThan(0);
    for (let time = 0; time < 2; time++) {
      const gone = await cluster.aggregator.app.inject({
        method: "DELETE",
        url: `/api/v1/bandwidth-leases/${body.lease!.id}`,
      });
      expect([gone.statusCode, gone.body]).toEqual([204, ""]);
    }
    const next = await askLease(cluster, { node: "n00" });
    expect(next.body.lease!.target).not.toBe(body.lease!.target);
    await cluster.clock.advance(30_000);
    const metrics = await metricsOf(cluster);
    expect(metrics).toContain("isochrone_aggregator_bandwidth_leases_granted_total 2");
    expect(metrics).toContain('isochrone_aggregator_bandwidth_leases_denied_total{reason="starting"} 1');
    expect(metrics).toContain('isochrone_aggregator_bandwidth_leases_denied_total{reason="node_busy"} 1');
    expect(metrics).toContain("isochrone_aggregator_bandwidth_leases_expired_total 1");
    expect(metrics).toContain("isochrone_aggregator_bandwidth_leases_active 0");
  });

  test("come from the elected replica alone", async () => {
    const cluster = await start(3, {}, { leadership: { isLeader: () => false } });
    await cluster.clock.advance(60_000);
    expect((await askLease(cluster, { node: "n00" })).body).toEqual({ lease: null, retryAfterMs: 30_000 });
  });

  test.each([
    [{ node: "nowhere" }, 404, "unknown_node"],
    [{}, 400, "request_invalid"],
    [{ node: 5 }, 400, "request_invalid"],
    [{ node: "" }, 400, "request_invalid"],
    [{ node: "x".repeat(300) }, 400, "request_invalid"],
    [{ node: "n00", force: true }, 400, "request_invalid"],
    [[], 400, "request_invalid"],
    ["{", 400, "fst_err_ctp_invalid_json_body"],
  ])("%j is a problem with status %i", async (payload, status, code) => {
    const cluster = await start(2);
    const answer = await askLease(cluster, payload);
    expect(answer.status).toBe(status);
    expect(answer.body.code).toBe(code);
  });

  test("are in the OpenAPI document", async () => {
    const cluster = await start(2);
    const answer = await cluster.aggregator.app.inject("/api/v1/openapi.json");
    const document = answer.json<{ paths: Record<string, object> }>();
    expect(Object.keys(document.paths["/api/v1/bandwidth-leases"]!)).toEqual(["post"]);
    expect(Object.keys(document.paths["/api/v1/bandwidth-leases/{id}"]!)).toEqual(["delete"]);
  });
});
