// Senders over HTTP are identified by their token's node, whatever the request claims.
import { KINDS } from "@isochrone/kubernetes";
import { accessGate, type AccessDecision } from "@isochrone/kubernetes/access";
import type { RequestGate } from "@isochrone/runtime/http";
import {
  encodeHeaders,
  encodeMetrics,
  HEADERS,
  RESOURCE_ATTRIBUTES,
  type Metric,
} from "@isochrone/telemetry";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MemoryKeyStore } from "../testing/memory-key-store.ts";
import { startAggregator, type RunningAggregator } from "../testing/aggregator.ts";
import { fill, nodeObject, podObject } from "../testing/cluster.ts";
import { probeMetrics } from "../testing/records.ts";

const PROBE = "system:serviceaccount:isochrone:probe";
const PROBE_LABELS = { "app.kubernetes.io/name": "isochrone-probe" };
const ACCOUNTS: Record<string, Omit<Extract<AccessDecision, { kind: "allowed" }>, "kind">> = {
  n1: { user: PROBE, node: "n1", pod: null },
  evil: { user: PROBE, node: "evil", pod: null },
  reader: { user: "people", node: null, pod: null },
  // A backend or dashboard with a pod on n1.
  readerOnN1: { user: "system:serviceaccount:tenant:reader", node: "n1", pod: null },
  otel: { user: "system:serviceaccount:otel:collector", node: "evil", pod: null },
  formerPod: { user: PROBE, node: null, pod: { namespace: "isochrone", name: "probe-n1", uid: "another" } },
};
const POLICY = [{ account: "system:serviceaccount:otel:collector", name: "otel", nodes: ["n1"] }];

const gate: RequestGate = accessGate({
  pathPrefix: "/isochrone",
  review: {
    decide: ({ token, verb, path }) =>
      token === "readerOnN1" && !(verb === "get" && path?.startsWith("/isochrone/api/v1/") === true)
        ? { kind: "forbidden", user: "reader", detail: "only get below /api/v1/" }
        : { kind: "allowed", ...ACCOUNTS[token]! },
  },
});

let running: RunningAggregator;
let sequence = 0;

beforeEach(async () => {
  running = await startAggregator({
    settings: { speakers: JSON.stringify(POLICY) },
    parts: { access: { gate, isMetricsOpen: true }, keyStore: new MemoryKeyStore() },
  });
  const probe = podObject("isochrone", "probe-n1", "n1", { labels: PROBE_LABELS, ip: "10.0.0.1" });
  await fill(running.store, [
    nodeObject("n1", "z1"),
    nodeObject("n2", "z1"),
    probe,
    podObject("isochrone", "probe-n2", "n2", { labels: PROBE_LABELS, ip: "10.0.0.2" }),
  ]);
  await running.clock.advance(10);
  const stored = await running.store.get({ ...KINDS.pod, namespace: "isochrone", name: "probe-n1" });
  const uid = stored!.metadata.uid ?? "";
  ACCOUNTS["oldApiServer"] = {
    user: PROBE,
    node: null,
    pod: { namespace: "isochrone", name: "probe-n1", uid },
  };
});

afterEach(() => running.stop());

interface Sent {
  readonly token: string;
  readonly source?: string;
  readonly node?: string;
  readonly ms?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

async function send({ token, source, node = "n1", ms = 50, headers = {} }: Sent) {
  const nowMs = running.clock.now();
  const metrics: Metric[] = probeMetrics([
    { target: "n2", timeMs: nowMs, rttsMs: Array.from({ length: 30 }, () => ms) },
  ]);
  const identity =
    source === undefined ? {} : encodeHeaders({ source, epoch: "e", sequence: sequence++, sentAtMs: nowMs });
  const answer = await running.aggregator.app.inject({
    method: "POST",
    url: "/v1/metrics",
    headers: {
      ...identity,
      "content-type": "application/x-protobuf",
      authorization: `Bearer ${token}`,
      ...headers,
    },
    payload: Buffer.from(
      encodeMetrics({ resource: { [RESOURCE_ATTRIBUTES.node]: node }, scope: { name: "test" }, metrics }),
    ),
  });
  return { status: answer.statusCode, body: answer.rawPayload.toString("utf8") };
}

const get = (path: string, token: string, headers: Readonly<Record<string, string>> = {}) =>
  running.aggregator.app.inject({ url: path, headers: { authorization: `Bearer ${token}`, ...headers } });

async function medianMs(): Promise<number | null | undefined> {
  await running.clock.advance(1_000);
  const { links } = JSON.parse((await get("/api/v1/graph/cluster", "reader")).body) as {
    links: { source: string; target: string; rttMs: { p50: number | null } }[];
  };
  return links.find(({ source, target }) => source === "n1" && target === "n2")?.rttMs.p50;
}

async function metric(name: string): Promise<string> {
  const { body } = await running.aggregator.app.inject({ url: "/metrics" });
  return new RegExp(`^${name.replace(/[{}]/g, "\\$&")} (.*)$`, "m").exec(body)?.[1] ?? "";
}

describe("the ingest", () => {
  test("takes what a probe sends of its own node", async () => {
    expect(await send({ token: "n1", source: "probe/n1" })).toMatchObject({ status: 200 });
    expect(await medianMs()).toBeCloseTo(50, 0);
  });

  test("refuses a record in another node's name, and counts it", async () => {
    const { status, body } = await send({ token: "evil", source: "probe/n1", ms: 0.01 });
    expect(status).toBe(403);
    expect(body).toContain("node/evil must not send as probe/n1: it speaks for its own node only");
    expect(await metric('isochrone_aggregator_http_refused_total{reason="not_yours"}')).toBe("1");
  });

  test("never takes the speaker from the client's own headers", async () => {
    await send({ token: "n1", source: "probe/n1" });
    const forged = { [HEADERS.speaker]: "node/n1", [HEADERS.mac]: "1.AAAA" };
    const sent = { token: "evil", ms: 0.01, headers: forged };
    expect((await send({ ...sent, source: "probe/evil" })).status).toBe(200);
    expect((await send(sent)).status).toBe(200);
    expect(await medianMs()).toBeCloseTo(50, 0);
    expect(Number(await metric('isochrone_aggregator_refused_total{reason="not_yours"}'))).toBeGreaterThan(0);
  });

  test("refuses an account that neither a pod on a node nor the operator stands for, before its body is read", async () => {
    const { status, body } = await send({ token: "reader", source: "probe/n1" });
    expect(status).toBe(403);
    expect(body).toContain("people must have a token that is bound to a pod on a node, or be named in");
  });

  test("lets a service speak of what the operator named, wherever its pod runs", async () => {
    expect((await send({ token: "otel" })).status).toBe(200);
    expect(await medianMs()).toBeCloseTo(50, 0);
  });

  test("knows the node by the pod where the API server names only that, and by that pod only", async () => {
    expect((await send({ token: "formerPod", source: "probe/n1" })).status).toBe(403);
    expect((await send({ token: "oldApiServer", source: "probe/n1" })).status).toBe(200);
    expect(await medianMs()).toBeCloseTo(50, 0);
  });
});

describe("a probe plan", () => {
  const report = (ids: string): Record<string, string> => ({ "isochrone-probe-keys": ids });
  const signing = async (token: string, node = "n1", ids = "1,2;signing=2"): Promise<number> =>
    (
      JSON.parse((await get(`/api/v1/probe-plan/${node}`, token, report(ids))).body) as {
        signingKeyId: number;
      }
    ).signingKeyId;
  const startRotating = async (): Promise<MemoryKeyStore> => {
    await running.stop();
    const keyStore = new MemoryKeyStore();
    running = await startAggregator({
      settings: { keyRotationMs: 60_000, keyCheckMs: 1_000, keyReportMaxAgeMs: 20_000, keyGraceMs: 4_000 },
      parts: { access: { gate, isMetricsOpen: true }, keyStore },
    });
    await fill(running.store, [
      nodeObject("n1", "z1"),
      podObject("isochrone", "probe-n1", "n1", { labels: PROBE_LABELS, ip: "10.0.0.1" }),
    ]);
    await running.clock.advance(61_000);
    expect((await keyStore.read()).set?.keys.map(({ id }) => id)).toEqual([1, 2]);
    return keyStore;
  };

  test("is not given to a reader of graphs whose own pod runs on that node: what it says of keys would count", async () => {
    const keyStore = await startRotating();
    const answer = await get("/api/v1/probe-plan/n1", "readerOnN1", report("1,2;signing=1"));
    await running.clock.advance(5_000);
    expect([answer.statusCode, (await keyStore.read()).set?.signingKeyId]).toEqual([403, 1]);
    expect((await get("/api/v1/graph/cluster", "readerOnN1")).statusCode).toBe(200);
  });

  test("is read by others who may, and takes no report of theirs: keys do not switch", async () => {
    const keyStore = await startRotating();
    for (const token of ["reader", "evil", "otel"]) expect(await signing(token)).toBe(1);
    await running.clock.advance(5_000);
    expect((await keyStore.read()).set?.signingKeyId).toBe(1);
    // The node's own probe is trusted.
    await signing("n1", "n1", "1,2;signing=1");
    await running.clock.advance(5_000);
    expect((await keyStore.read()).set?.signingKeyId).toBe(2);
  });

  test("is the same for others, whatever stands in their report", async () => {
    const own = await get("/api/v1/probe-plan/n1", "n1");
    expect(own.statusCode).toBe(200);
    const other = await get("/api/v1/probe-plan/n1", "reader", report("no report at all"));
    expect([other.statusCode, other.body]).toEqual([200, own.body]);
  });
});

describe("a bandwidth lease", () => {
  test("is given to a node's own probe only", async () => {
    const ask = (token: string) =>
      running.aggregator.app.inject({
        method: "POST",
        url: "/api/v1/bandwidth-leases",
        headers: { authorization: `Bearer ${token}` },
        payload: { node: "n1" },
      });
    expect(JSON.parse((await ask("evil")).body)).toMatchObject({ status: 403, code: "not_yours" });
    expect((await ask("n1")).statusCode).toBe(200);
  });
});
