import { createRegistry } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createLabControl, type ClusterReport, type LabControl, type MetricsPage } from "./control.ts";
import { LabClient, LabClientError } from "./lab-client.ts";
import { startNetwork, udpClient, udpResponder, until } from "./network/testing/rig.ts";

const TOKEN = "the-token-of-this-lab";
const AUTHORIZED = { "content-type": "application/json", authorization: `Bearer ${TOKEN}` };

async function startControl(
  cluster?: ClusterReport,
  pages: readonly MetricsPage[] = [],
): Promise<{ control: LabControl; client: LabClient; network: Awaited<ReturnType<typeof startNetwork>> }> {
  const network = await startNetwork({ rttMs: 6 });
  const control = await createLabControl({
    network,
    logger: new MemoryLogger(),
    registry: createRegistry(),
    token: TOKEN,
    pages,
    ...(cluster === undefined ? {} : { cluster }),
  });
  const { url } = await control.start(0);
  onTestFinished(() => control.stop());
  return { control, client: new LabClient(url, { token: TOKEN }), network };
}

test("a client changes a link and sees it in the matrix", async () => {
  const { client } = await startControl();
  const changed = await client.setLink("a", "b", { rttMs: 80, lossRatio: 0.01 });
  expect(changed.map(({ source, target, link }) => [source, target, link.rttMs, link.lossRatio])).toEqual([
    ["a", "b", 80, 0.01],
    ["b", "a", 80, 0.01],
  ]);
  expect((await client.setLink("b", "a", { cut: true }, { oneWay: true })).length).toBe(1);
  expect(await client.matrix()).toEqual({
    nodes: ["a", "b"],
    rttMs: [
      [0, 80],
      [null, 0],
    ],
  });
});

test("a client reads the record of what passed", async () => {
  const { client, network } = await startControl();
  const port = await udpResponder(network, "b");
  const socket = await udpClient(network, "a", "b", port);
  socket.send("x");
  await until(async () => (await client.record(10_000)).pairs.some(({ udp }) => udp.count === 1));
  const { lastMs, pairs } = await client.record(10_000);
  expect(lastMs).toBe(10_000);
  expect(pairs[0]).toMatchObject({
    source: "a",
    target: "b",
    udp: { count: 1, forwarded: 2 },
    tcp: { count: 0 },
  });
});

test("the cluster's reports are passed on, and missing without a cluster", async () => {
  const { client } = await startControl({
    receiverCounts: () => [{ count: 3 }],
    endToEnd: () => ({ p95Ms: 7 }),
    processes: () => ({ relayPid: 1, pids: [2, 3] }),
    objects: () => Promise.resolve({ kind: "List", items: [] }),
  });
  expect(await client.receivers()).toEqual([{ count: 3 }]);
  expect(await client.workflow()).toEqual({ p95Ms: 7 });
  expect(await client.objects()).toEqual({ kind: "List", items: [] });
  const without = await startControl();
  await expect(without.client.workflow()).rejects.toMatchObject({ status: 404, code: "no_cluster" });
  const nothing = (): null => null;
  const real = await startControl({ receiverCounts: nothing, endToEnd: nothing, processes: nothing });
  await expect(real.client.objects()).rejects.toMatchObject({ status: 404, code: "has_api_server" });
});

test.each([
  [{ delayMs: -1 }, 400],
  [{ delayMs: 1e9 }, 400],
  [{ delayMs: "80" }, 400],
  [{ lossRatio: 1.5 }, 400],
  [{ bandwidthBitsPerSecond: 1 }, 400],
  [{ cut: "yes" }, 400],
  [{ rttMs: 5 }, 400],
  [{}, 400],
  [[], 400],
  [null, 400],
])("the body %j is refused and changes nothing", async (body, status) => {
  const { control, network } = await startControl();
  const before = network.link("a", "b");
  const answer = await control.app.inject({
    method: "PUT",
    url: "/lab/v1/links/a/b",
    headers: AUTHORIZED,
    payload: JSON.stringify(body),
  });
  expect(answer.statusCode).toBe(status);
  expect(network.link("a", "b")).toEqual(before);
});

test("hostile paths, sizes and durations are refused", async () => {
  const { control } = await startControl();
  const { app } = control;
  const put = (url: string, payload: string): Promise<number> =>
    app.inject({ method: "PUT", url, headers: AUTHORIZED, payload }).then(({ statusCode }) => statusCode);
  expect(await put("/lab/v1/links/a/nowhere", '{"cut":true}')).toBe(404);
  expect(await put("/lab/v1/links/__proto__/constructor", '{"cut":true}')).toBe(404);
  expect(await put("/lab/v1/links/a/a", '{"cut":true}')).toBe(400);
  expect(await put("/lab/v1/links/a/b", '{"__proto__":{"cut":true}}')).toBe(400);
  expect(await put("/lab/v1/links/a/b", "{")).toBe(400);
  expect(await put("/lab/v1/links/a/b", `{"cut":true,"x":"${"x".repeat(10_000)}"}`)).toBe(413);
  for (const last of ["", "30", "-1s", "NaNs", "1e9s", "0s", "200s", "1s&last=2s"]) {
    expect((await app.inject({ url: `/lab/v1/record?last=${last}` })).statusCode).toBe(400);
  }
});

test("an error names the unknown node to the client", async () => {
  const { client } = await startControl();
  await expect(client.setLink("a", "nowhere", { cut: true })).rejects.toThrow(
    'there is no node "nowhere", the network has a, b',
  );
});

test("with the relay down the record is not available, which is not for ever", async () => {
  const { client, network } = await startControl();
  process.kill(network.relayPid!, "SIGKILL");
  await until(() => network.relayPid === null);
  await expect(client.record()).rejects.toMatchObject({ status: 503, code: "relay_down", retryable: true });
});

test("a client without a lab says where it looked", async () => {
  const { control, client } = await startControl();
  await control.stop();
  const error = await client.matrix().catch((error: unknown) => error);
  expect(error).toBeInstanceOf(LabClientError);
  expect((error as Error).message).toMatch(
    /no lab answers at http:\/\/127\.0\.0\.1:\d+: fetch failed: connect ECONNREFUSED/,
  );
});

test("the pages of metrics are listed for Prometheus, and each can be read", async () => {
  const registry = { metrics: () => Promise.resolve("isochrone_peers 3\n") };
  const { control } = await startControl(undefined, [
    { job: "isochrone-probe", instance: "a/1 b", registry },
  ]);
  const get = (url: string) => control.app.inject({ url, headers: { host: "127.0.0.1:9" } });
  const targets = (await get("/lab/v1/metrics-targets")).json<{ labels: Record<string, string> }[]>();
  const path = "/lab/v1/metrics/isochrone-probe/a%2F1%20b";
  const labels = { job: "isochrone-probe", instance: "a/1 b", __metrics_path__: path };
  expect(targets).toEqual([{ targets: ["127.0.0.1:9"], labels }]);
  const page = await get(path);
  expect([page.statusCode, page.body]).toEqual([200, "isochrone_peers 3\n"]);
  expect(page.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
  expect((await get("/lab/v1/metrics/isochrone-probe/c")).statusCode).toBe(404);
});

test.each([
  ["no token", {}, "none"],
  ["another token", { authorization: "Bearer another" }, "another one"],
  ["a token of another scheme", { authorization: `Basic ${TOKEN}` }, "none"],
  ["an empty token", { authorization: "Bearer " }, "none"],
])("a change with %s is refused and changes nothing, reading needs none", async (_, headers, got) => {
  const { control, network } = await startControl();
  const before = network.link("a", "b");
  const { port } = control.app.server.address() as AddressInfo;
  const base = `http://127.0.0.1:${port}`;
  const answer = await fetch(`${base}/lab/v1/links/a/b`, {
    method: "PUT",
    headers: { "content-type": "application/json", ...headers },
    body: '{"cut":true}',
  });
  expect(answer.status).toBe(401);
  expect(await answer.json()).toMatchObject({
    code: "token_needed",
    detail: `changing the emulated network needs its token, got ${got}; the command reads it as the user that started the lab`,
  });
  expect(network.link("a", "b")).toEqual(before);
  expect((await fetch(`${base}/lab/v1/matrix`)).status).toBe(200);
  expect((await fetch(`${base}/lab/v1/objects`, { headers })).status).toBe(401);
});

test("a web page of a foreign name cuts no link, by whatever name its browser came here", async () => {
  const { control, network } = await startControl();
  const before = network.link("a", "b");
  const { port } = control.app.server.address() as AddressInfo;
  const put = (headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port, path: "/lab/v1/links/a/b", method: "PUT" };
      const sent = request({ ...options, headers: { ...AUTHORIZED, ...headers } }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on("error", reject).end('{"cut":true}');
    });
  expect(await put({ host: `evil.example:${port}` })).toBe(403);
  expect(await put({ origin: "https://evil.example" })).toBe(403);
  expect(await put({ "sec-fetch-site": "cross-site" })).toBe(403);
  expect(network.link("a", "b")).toEqual(before);
  expect(await put({ origin: `http://127.0.0.1:${port}` })).toBe(200);
});
