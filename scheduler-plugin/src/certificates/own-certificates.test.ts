// The extender with self-issued certificates over real TLS: which clients get in, and for how long.
import { X509Certificate } from "node:crypto";
import { request } from "node:https";
import { KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger, TestAuthority } from "@isochrone/runtime/testing";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSchedulerPlugin } from "../service.ts";
import type { SchedulerPlugin } from "../service.ts";
import { MemoryGraphs, podJson } from "../testing/graphs.ts";
import { configOf, NAMES } from "../testing/rig.ts";
import { openOwnCertificates } from "./own-certificates.ts";
import type { OwnCertificates } from "./own-certificates.ts";
import { extenderCertificateSettings } from "./settings.ts";

const DAY_MS = 86_400_000;
const NAMESPACE = "isochrone";
const HOST = "isochrone-scheduler-plugin.isochrone.svc";
const SECRET = "isochrone-scheduler-plugin-certificates";
const KUBE_SCHEDULER = "isochrone-scheduler-plugin-kube-scheduler";
const DECISIONS = "isochrone-scheduler-plugin-decisions";

interface Pair {
  readonly cert: string;
  readonly key: string;
}

interface Testbed {
  readonly store: ClusterStore;
  readonly clock: ManualClock;
  readonly certificates: OwnCertificates;
  readonly plugin: SchedulerPlugin;
  readonly secret: (name: string) => Promise<Record<string, string>>;
  readonly pairOf: (name: string) => Promise<Pair>;
}

async function ground(settings: Record<string, unknown> = {}, asksClients = true): Promise<Testbed> {
  const clock = new ManualClock(Date.now());
  const store = createMemoryStore({ clock });
  const surroundings = { clock, logger: new MemoryLogger(), registry: createRegistry() };
  const overrides = {
    extenderCertificates: { secret: `${NAMESPACE}/${SECRET}`, hosts: [HOST, "127.0.0.1"], ...settings },
  };
  const config = loadSettings([extenderCertificateSettings], { env: {}, overrides }).extenderCertificates;
  const around = { ...surroundings, store, certFile: null, asksClients };
  const certificates = openOwnCertificates(config, around)!;
  await certificates.start();
  onTestFinished(() => certificates.stop());
  const plugin = createSchedulerPlugin(configOf(asksClients ? {} : { access: "none" }), {
    ...surroundings,
    random: seededRandom(1),
    graphs: new MemoryGraphs(),
    tls: certificates.tls,
  });
  await plugin.start();
  onTestFinished(() => plugin.stop());
  const secret: Testbed["secret"] = async (name) => {
    const found = (await store.get({ ...KINDS.secret, namespace: NAMESPACE, name })) as KubernetesObject;
    const data = found["data"] as Record<string, string>;
    return Object.fromEntries(
      Object.entries(data).map(([entry, text]) => [entry, Buffer.from(text, "base64").toString()]),
    );
  };
  const pairOf: Testbed["pairOf"] = async (name) => {
    const { "tls.crt": cert, "tls.key": key } = await secret(name);
    return { cert: cert!, key: key! };
  };
  return { store, clock, certificates, plugin, secret, pairOf };
}

async function ask(
  { plugin, secret }: Testbed,
  pair: Partial<Pair>,
  path = "/scheduler/prioritize",
): Promise<{ status: number; json: unknown }> {
  const { port } = plugin.address();
  const { "ca.crt": ca } = await secret(KUBE_SCHEDULER);
  const method = path.startsWith("/scheduler") ? "POST" : "GET";
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: "127.0.0.1", port, path, method, ca, servername: HOST, agent: false, ...pair },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve({ status: response.statusCode!, json: JSON.parse(text) }));
      },
    );
    sent.on("error", reject);
    if (method === "POST") sent.write(JSON.stringify({ Pod: podJson("p-1", "p"), NodeNames: NAMES }));
    sent.end();
  });
}

describe("an extender that makes its own certificates", () => {
  test("answers kube-scheduler and the aggregator by theirs, and nobody without one", async () => {
    const on = await ground();
    expect((await ask(on, await on.pairOf(KUBE_SCHEDULER))).status).toBe(200);
    expect((await ask(on, await on.pairOf(DECISIONS), "/api/v1/decisions")).status).toBe(200);
    for (const path of [
      "/scheduler/prioritize",
      "/scheduler/filter",
      "/api/v1/decisions",
      "/api/v1/plans",
      "/api/v1/managed-resource",
      "/api/v1/descheduler",
    ])
      expect(await ask(on, {}, path)).toMatchObject({ status: 401, json: { code: "client_certificate" } });
  });

  test("turns away another authority's certificate, and its own server's", async () => {
    const on = await ground();
    const folder = await mkdtemp(join(tmpdir(), "isochrone-strange-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const authority = await TestAuthority.create(folder);
    const { certFile, keyFile } = await authority.issue("isochrone-kube-scheduler-client");
    const [cert, key] = await Promise.all([readFile(certFile, "utf8"), readFile(keyFile, "utf8")]);
    for (const pair of [{ cert, key }, await on.pairOf(SECRET)]) {
      expect((await ask(on, pair)).status).toBe(401);
    }
  });

  test("keeps the authority's key in one Secret alone", async () => {
    const on = await ground();
    const { "ca.key": key } = await on.secret(SECRET);
    expect(key).toContain("PRIVATE KEY");
    for (const name of [KUBE_SCHEDULER, DECISIONS])
      expect(Object.keys(await on.secret(name)).sort()).toEqual(["ca.crt", "tls.crt", "tls.key"]);
    const published = await on.store.get({
      ...KINDS.configMap,
      namespace: NAMESPACE,
      name: "isochrone-scheduler-plugin-ca",
    });
    expect(published!["data"]).toEqual({ "ca.crt": (await on.secret(KUBE_SCHEDULER))["ca.crt"] });
  });

  test("makes kube-scheduler's certificate for a year and a new one with a third left; the old one is still taken", async () => {
    const on = await ground({ checkMs: DAY_MS / 24 });
    const first = await on.pairOf(KUBE_SCHEDULER);
    const daysOf = ({ cert }: Pair): number =>
      (Date.parse(new X509Certificate(cert).validTo) - on.clock.now()) / DAY_MS;
    expect(Math.round(daysOf(first))).toBe(365);
    // After two thirds of the lifetime. No test clock drives key generation, so checks repeat until a key
    // exists.
    on.clock.stepWall(244 * DAY_MS);
    await expect
      .poll(
        async () => {
          await on.clock.advance(DAY_MS / 24);
          return (await on.pairOf(KUBE_SCHEDULER)).cert !== first.cert;
        },
        { timeout: 10_000, interval: 5 },
      )
      .toBe(true);
    expect(
      new X509Certificate((await on.pairOf(KUBE_SCHEDULER)).cert).checkHost(
        "isochrone-kube-scheduler-client",
      ),
    ).toBeDefined();
    expect(daysOf(first)).toBeGreaterThan(60);
    const trusted = new X509Certificate((await on.secret(SECRET))["ca.crt"]!);
    expect(new X509Certificate(first.cert).verify(trusted.publicKey)).toBe(true);
  });

  test("says when the certificate ends that kube-scheduler shows", async () => {
    const on = await ground();
    const pair = await on.pairOf(KUBE_SCHEDULER);
    await ask(on, pair);
    const page = (await on.plugin.app.inject("/metrics")).payload;
    const line =
      /isochrone_tls_shown_certificate_not_after_seconds\{server="scheduler",client="isochrone-kube-scheduler-client"\} (\d+)/;
    expect(Number(line.exec(page)?.[1])).toBe(Date.parse(new X509Certificate(pair.cert).validTo) / 1000);
  });

  test("asks nobody for a certificate when everyone may ask (scheduler.access none)", async () => {
    const on = await ground({}, false);
    const { port } = on.plugin.address();
    const { "ca.crt": ca } = await on.secret(SECRET);
    const status = await new Promise((resolve, reject) => {
      const sent = request({
        host: "127.0.0.1",
        port,
        path: "/api/v1/plans",
        ca,
        servername: HOST,
        agent: false,
      });
      sent.on("response", (response) => resolve(response.resume().statusCode)).on("error", reject);
      sent.end();
    });
    expect(status).toBe(200);
  });
});

describe("an extender that listens on other than a loopback address", () => {
  const around = () => ({
    clock: new ManualClock(),
    random: seededRandom(1),
    logger: new MemoryLogger(),
    registry: createRegistry(),
    graphs: new MemoryGraphs(),
  });

  test("doesn't start without client certificates, and says which settings are missing", () => {
    for (const host of ["0.0.0.0", "::", "10.0.0.7", "scheduler.example.com"])
      expect(() => createSchedulerPlugin(configOf({ host }), around())).toThrow(
        /scheduler\.access .* got none for /,
      );
    const files = { tlsCertFile: "/tls.crt", tlsKeyFile: "/tls.key" };
    expect(() => createSchedulerPlugin(configOf({ host: "0.0.0.0", ...files }), around())).toThrow(
      /client certificates/,
    );
  });

  test("does with them, and where somebody said that everyone may ask", () => {
    for (const settings of [
      { host: "127.0.0.1" },
      { host: "::1" },
      { host: "0.0.0.0", access: "none" },
      { host: "0.0.0.0", tlsCertFile: "/tls.crt", tlsKeyFile: "/tls.key", tlsClientCaFile: "/ca.crt" },
    ])
      expect(() => createSchedulerPlugin(configOf(settings), around())).not.toThrow();
  });
});
