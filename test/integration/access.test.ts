// Authorization at the graph API by a real API server with real service account tokens.
import { execFile } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { openAccess } from "@isochrone/aggregator/testing";
import type { OutgoingRecord } from "@isochrone/bus";
import { createMemoryBus } from "@isochrone/bus/memory";
import { OtlpHttpPublisher } from "@isochrone/bus/testing";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { accessSettings } from "@isochrone/kubernetes/access";
import type { ApiServerClusterStore } from "@isochrone/kubernetes/testing";
import { createHttpPlanSource } from "@isochrone/probe/testing";
import {
  authorizedFetch,
  createRegistry,
  loadSettings,
  systemClock,
  systemRandom,
  type Fetch,
} from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { encodeHeaders, encodeMetrics, TOPICS } from "@isochrone/telemetry";
import { GraphClient } from "@isochrone/topology/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CertificateAuthority } from "../harness/common/x509.ts";
import { storeWithReviewsOf } from "../harness/control-plane-reviews.ts";
import { controlPlaneSupport, startControlPlane, type ControlPlane } from "../harness/control-plane/index.ts";

const NAMESPACE = "isochrone";
const CACHE_MS = 1_000;
/** The API server caches a successful authentication this long. */
const API_SERVER_CACHE_MS = 10_000;

const folder = mkdtempSync(join(tmpdir(), "isochrone-access-"));
const authority = new CertificateAuthority("graph API of a test");
const files = {
  ca: join(folder, "ca.pem"),
  cert: join(folder, "tls.crt"),
  key: join(folder, "tls.key"),
};
let cluster: ControlPlane;
let judge: ApiServerClusterStore;
let aggregator: Aggregator;
let url: string;

function writeCertificate(commonName: string): void {
  const { certificate, key } = authority.issue({ commonName, hosts: ["127.0.0.1"] });
  // Each file is replaced atomically. Between the two, the pair does not match and the old one stays in use.
  for (const [path, text] of [
    [files.cert, certificate],
    [files.key, key],
  ] as const) {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
}

async function startServed(): Promise<Aggregator> {
  const account = { namespace: NAMESPACE, name: "aggregator" };
  const kubeconfig = await cluster.kubeconfigOf({ serviceAccount: account });
  const usual = {
    clock: systemClock,
    random: systemRandom,
    logger: new MemoryLogger(),
    registry: createRegistry(),
  };
  judge = createApiServerStore({ ...usual, credentials: { kubeconfig }, requestTimeoutMs: 5_000 });
  const surroundings = { ...usual, store: storeWithReviewsOf(judge) };
  const host = "127.0.0.1";
  const { aggregator: config, access } = loadSettings([aggregatorSettings, accessSettings], {
    env: {},
    file: {
      aggregator: { host, port: 0, tlsCertFile: files.cert, tlsKeyFile: files.key, buildIntervalMs: 200 },
      access: { mode: "kubernetes", cacheMs: CACHE_MS, openMetrics: true },
    },
  });
  const gate = openAccess(access, { ...surroundings, host });
  const bus = createMemoryBus({ clock: systemClock });
  const created = createAggregator(config, { ...surroundings, bus, access: { gate, isMetricsOpen: true } });
  await created.start();
  return created;
}

interface Holder {
  readonly token: string;
  readonly tokenFile: string;
  readonly fetch: Fetch;
  readonly revoke: () => Promise<void>;
}

async function holderOf(
  name: string,
  audiences: readonly string[] | null = ["isochrone"],
  pod?: { readonly name: string; readonly uid: string },
): Promise<Holder> {
  const account = { namespace: NAMESPACE, name };
  const { token, revoke } = await cluster.serviceAccountToken(account, {
    ...(audiences === null ? {} : { audiences }),
    ...(pod === undefined ? {} : { pod }),
  });
  const tokenFile = join(folder, `token-${name}-${performance.now()}`);
  writeFileSync(tokenFile, token);
  return {
    token,
    tokenFile,
    revoke,
    fetch: authorizedFetch({ tokenFile, caFile: files.ca, clock: systemClock }),
  };
}

async function ask({ fetch: get }: Holder, path: string): Promise<{ status: number; detail: string }> {
  const answer = await get(url + path);
  const text = await answer.text();
  const isProblem = answer.headers.get("content-type") === "application/problem+json";
  const detail = isProblem ? (JSON.parse(text) as { detail: string }).detail : "";
  return { status: answer.status, detail };
}

function publisherOf({ fetch: post }: Holder): OtlpHttpPublisher {
  return new OtlpHttpPublisher({ url: `${url}/v1/metrics`, fetch: post });
}

async function probeOn(node: string): Promise<Holder> {
  const name = `probe-${node}-${performance.now()}`;
  // Creates the account as well.
  await cluster.serviceAccountToken({ namespace: NAMESPACE, name: "probe" });
  const [created] = await cluster.create({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: NAMESPACE, name },
    spec: { serviceAccountName: "probe", nodeName: node, containers: [{ name: "probe", image: "none" }] },
  });
  return holderOf("probe", ["isochrone"], { name, uid: created!.metadata.uid! });
}

let sequence = 0;
function record(source = "probe/n1"): OutgoingRecord {
  sequence += 1;
  const headers = encodeHeaders({ source, epoch: "1", sequence, sentAtMs: Date.now() });
  const value = encodeMetrics({ resource: {}, scope: { name: "test" }, metrics: [] });
  return { key: "n1", value, headers };
}

async function untilStatus(holder: Holder, path: string, status: number, withinMs: number): Promise<number> {
  const beganMs = performance.now();
  for (;;) {
    const answer = await ask(holder, path);
    const tookMs = performance.now() - beganMs;
    if (answer.status === status) return tookMs;
    if (tookMs > withinMs) throw new Error(`${path} must answer ${status}, got ${answer.status}`);
    await sleep(100);
  }
}

const CLUSTER = "/api/v1/graph/cluster";
const support = controlPlaneSupport();
if (!support.supported) console.warn(`access is not tested: ${support.reason}`);

describe.runIf(support.supported)("access to the graph API, judged by a real API server", () => {
  beforeAll(async () => {
    writeFileSync(files.ca, authority.certificate);
    writeCertificate("first");
    cluster = await startControlPlane({ audit: true });
    await cluster.createNamespace(NAMESPACE);
    const account = (name: string) => ({ serviceAccount: { namespace: NAMESPACE, name } });
    await cluster.grant(account("aggregator"), [
      { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    ]);
    await cluster.grant(account("reader"), [{ nonResourceURLs: ["/isochrone/api/v1/*"], verbs: ["get"] }]);
    await cluster.grant(account("probe"), [
      { nonResourceURLs: ["/isochrone/v1/metrics"], verbs: ["post"] },
      { nonResourceURLs: ["/isochrone/v1/probe-plan"], verbs: ["get"] },
    ]);
    aggregator = await startServed();
    url = aggregator.address().url;
  }, 900_000);

  afterAll(async () => {
    await aggregator?.stop();
    judge?.close();
    await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("a service account with a rule reads what the rule names, and nothing else", async () => {
    const reader = await holderOf("reader");
    const graphs = new GraphClient({ baseUrl: url, timeoutMs: 5_000, fetch: reader.fetch });
    expect((await graphs.cluster()).value.nodes).toEqual([]);
    const probe = await holderOf("probe");
    expect(await ask(probe, CLUSTER)).toEqual({
      status: 403,
      detail: `system:serviceaccount:isochrone:probe needs a ClusterRole with the rule {nonResourceURLs: ["/isochrone${CLUSTER}"], verbs: ["get"]}`,
    });
    await expect(publisherOf(reader).publish(TOPICS.probe, [record()])).rejects.toMatchObject({
      code: "unauthorized",
    });
  });

  test("a probe sends telemetry and asks for its plan with the token of its file", async () => {
    const probe = await probeOn("n1");
    await publisherOf(probe).publish(TOPICS.probe, [record(), record()]);
    const source = createHttpPlanSource({ aggregatorUrl: url, node: "n1", fetch: probe.fetch });
    const self = { heldKeyIds: [1], signingKeyId: 1 };
    // Access is granted. The rejection concerns a node that the cluster does not have.
    await expect(source.fetch(null, self, AbortSignal.timeout(5_000))).rejects.toThrow("status 404");
    const stranger = createHttpPlanSource({
      aggregatorUrl: url,
      node: "n1",
      fetch: authorizedFetch({ caFile: files.ca, clock: systemClock }),
    });
    await expect(stranger.fetch(null, self, AbortSignal.timeout(5_000))).rejects.toThrow("status 401");
  });

  test("a probe speaks for the node that the API server says its pod is on, and for no other", async () => {
    const evil = await probeOn("n2");
    await publisherOf(evil).publish(TOPICS.probe, [record("probe/n2")]);
    await expect(publisherOf(evil).publish(TOPICS.probe, [record("probe/n1")])).rejects.toThrow(
      "node/n2 must not send as probe/n1: it speaks for its own node only",
    );
    const unbound = await holderOf("probe");
    await expect(publisherOf(unbound).publish(TOPICS.probe, [record()])).rejects.toThrow(
      "system:serviceaccount:isochrone:probe must have a token that is bound to a pod on a node",
    );
  });

  test("a token for the API server is not taken, and ours is none for the API server", async () => {
    const other = await holderOf("reader", null);
    expect(await ask(other, CLUSTER)).toMatchObject({
      status: 401,
      detail: "the bearer token is for another audience",
    });
    const ours = await holderOf("reader");
    const atApiServer = authorizedFetch({
      tokenFile: ours.tokenFile,
      caFile: cluster.caFile,
      clock: systemClock,
    });
    expect((await atApiServer(`${cluster.url}/api/v1/namespaces`)).status).toBe(401);
  });

  test("a token whose signature was changed is not taken", async () => {
    const reader = await holderOf("reader");
    const middle = reader.token.lastIndexOf(".") + 20;
    const other = reader.token[middle] === "A" ? "B" : "A";
    writeFileSync(reader.tokenFile, reader.token.slice(0, middle) + other + reader.token.slice(middle + 1));
    expect(await ask(reader, CLUSTER)).toMatchObject({
      status: 401,
      detail: "the bearer token is not accepted",
    });
  });

  test("the command line reads the graph with a token file and a file of authorities", async () => {
    const { tokenFile } = await holderOf("reader");
    const main = join(import.meta.dirname, "../../cli/src/main.ts");
    const graph = (...more: readonly string[]) =>
      promisify(execFile)(process.execPath, [main, "graph", "--server", url, "-o", "json", ...more], {
        timeout: 30_000,
      });
    const { stdout } = await graph("--ca-file", files.ca, "--token-file", tokenFile);
    expect(JSON.parse(stdout)).toMatchObject({ cluster: { nodes: [] } });
    await expect(graph("--ca-file", files.ca)).rejects.toMatchObject({
      stderr: expect.stringContaining("401"),
    });
  });

  test("the event stream opens for a token", async () => {
    const reader = await holderOf("reader");
    const leaving = new AbortController();
    const stream = await reader.fetch(`${url}/api/v1/events`, { signal: leaving.signal });
    expect([stream.status, stream.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
    const first = await stream.body![Symbol.asyncIterator]().next();
    expect(Buffer.from(first.value as Uint8Array).toString()).toContain("event: graph");
    leaving.abort();
  });

  test("what a deleted account and a deleted token could do ends within the time of the caches", async () => {
    const deleted = await holderOf("leaver");
    const revoked = await holderOf("reader");
    await cluster.grant({ serviceAccount: { namespace: NAMESPACE, name: "leaver" } }, [
      { nonResourceURLs: [`/isochrone${CLUSTER}`], verbs: ["get"] },
    ]);
    expect([(await ask(deleted, CLUSTER)).status, (await ask(revoked, CLUSTER)).status]).toEqual([200, 200]);
    await cluster.request("DELETE", `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/leaver`);
    await revoked.revoke();
    const withinMs = CACHE_MS + API_SERVER_CACHE_MS + 3_000;
    await Promise.all([
      untilStatus(deleted, CLUSTER, 401, withinMs),
      untilStatus(revoked, CLUSTER, 401, withinMs),
    ]);
  });

  test("certificates are replaced while requests run, and none fails", async () => {
    const reader = await holderOf("reader");
    const results: (number | string)[] = [];
    const stop = new AbortController();
    const requests = Array.from({ length: 4 }, async () => {
      // A new client each time forces a new handshake.
      while (!stop.signal.aborted) {
        const get = authorizedFetch({ tokenFile: reader.tokenFile, caFile: files.ca, clock: systemClock });
        results.push(await get(url + CLUSTER).then(({ status }) => status, String));
      }
    });
    writeCertificate("second");
    const metrics = async () => (await reader.fetch(`${url}/metrics`)).text();
    const endMs = performance.now() + 25_000;
    while (!(await metrics()).includes('isochrone_tls_reloads_total{server="graph-api",result="taken"} 1')) {
      if (performance.now() > endMs) throw new Error("the new certificate was not taken");
      await sleep(100);
    }
    const before = results.length;
    while (results.length < before + 50 && performance.now() < endMs + 10_000) await sleep(50);
    stop.abort();
    await Promise.all(requests);
    expect(results.length).toBeGreaterThanOrEqual(before + 50);
    expect(results.filter((result) => result !== 200)).toEqual([]);
  });

  test("without the API server the known go on and the unknown wait; with it all is as before", async () => {
    const known = await holderOf("reader");
    const late = await holderOf("reader");
    expect((await ask(known, CLUSTER)).status).toBe(200);
    await cluster.stopApiServer();
    try {
      await sleep(2 * CACHE_MS);
      expect((await ask(known, CLUSTER)).status).toBe(200);
      const refused = await late.fetch(url + CLUSTER);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
      expect(await refused.json()).toMatchObject({ code: "access_unavailable" });
    } finally {
      await cluster.startApiServer();
    }
    expect(await untilStatus(late, CLUSTER, 200, 10_000)).toBeLessThan(10_000);
    expect((await ask(known, CLUSTER)).status).toBe(200);
  });

  test("the aggregator is denied nothing, and no token stands in its metrics", async () => {
    const reader = await holderOf("reader");
    await ask(reader, CLUSTER);
    const text = await (await reader.fetch(`${url}/metrics`)).text();
    expect(text).toContain('isochrone_access_decisions_total{decision="allowed"}');
    expect(text).not.toContain(reader.token.slice(-40));
    const denied = await cluster.auditEvents(
      ({ decision, user }) => decision === "forbid" && user.endsWith(":aggregator"),
    );
    expect(denied).toEqual([]);
  });
});
