import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { LeaseHolder } from "@isochrone/kubernetes";
import { createRegistry, seededRandom } from "@isochrone/runtime";
import { createHttpApp, type HttpApp } from "@isochrone/runtime/http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createReplicaMetrics } from "../replication/replicas-metrics.ts";
import { Replicas } from "../replication/replicas.ts";
import { BANDWIDTH_LEASE_MS, ReplicaWorld } from "../testing/elected-replica.ts";
import { registerBandwidthLeaseRoutes } from "./bandwidth-lease-routes.ts";
import { FORWARDED_HEADER, LeaderForward } from "./forward.ts";

const LEASES = "/api/v1/bandwidth-leases";

let world: ReplicaWorld;
let servers: Server[];

beforeEach(async () => {
  world = new ReplicaWorld();
  await world.fill();
  servers = [];
});

afterEach(async () => {
  await world.stop();
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Polls in real time, because sockets do not follow the manual clock. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let waitedMs = 0; waitedMs < 5_000; waitedMs += 5) {
    if (await condition()) return;
    await sleep(5);
  }
  throw new Error("the condition did not come true within 5 s");
}

async function impostor(listener: RequestListener): Promise<{ forward: LeaderForward; app: HttpApp }> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return await appBefore({
    identity: "x",
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
}

async function appBefore(holder: LeaseHolder | null): Promise<{ forward: LeaderForward; app: HttpApp }> {
  const leadership = { isLeader: () => false, holder: () => holder };
  const forward = new LeaderForward({ leadership, replica: "r", clock: world.clock, maxInFlight: 2 });
  const app = await createHttpApp({
    name: "graph-api",
    logger: world.logger,
    registry: createRegistry(),
    bodyLimitBytes: 1024,
    ready: () => ({ ready: true, reasons: [] }),
  });
  const desk = {
    acquire: () => {
      throw new Error("not here");
    },
    release: () => undefined,
  };
  registerBandwidthLeaseRoutes(app, desk, forward);
  return { forward, app };
}

const post = async (app: HttpApp, headers: Record<string, string> = {}) => {
  const answer = await app.inject({ method: "POST", url: LEASES, headers, payload: { node: "n0" } });
  return {
    status: answer.statusCode,
    retryAfter: answer.headers["retry-after"],
    code: answer.json<{ code?: string }>().code,
  };
};

describe("bandwidth leases of several replicas", () => {
  test("are given by the leader, whichever replica is asked", async () => {
    const [a, b, c] = await world.joinThree();
    const first = await b.askLease("n0");
    expect(first).toMatchObject({ status: 200, cacheControl: "no-store" });
    expect(first.body.lease).toMatchObject({ expiresInMs: BANDWIDTH_LEASE_MS });
    // Bookkeeping is shared: the node is busy at every replica.
    const again = await Promise.all([a, b, c].map((replica) => replica.askLease("n0")));
    expect(again.map(({ status, body }) => [status, body.lease])).toEqual([
      [200, null],
      [200, null],
      [200, null],
    ]);
    const url = `${LEASES}/${first.body.lease!.id}`;
    const released = await c.app.inject({ method: "DELETE", url });
    expect(released.statusCode).toBe(204);
    const target = first.body.lease!.target;
    const next = await a.askLease(target);
    expect(next.body.lease).not.toBeNull();
  });

  test("mistakes are answered as the leader answers them, bad bodies at once", async () => {
    const [, b] = await world.joinThree();
    expect(await b.askLease("nobody")).toMatchObject({ status: 404, body: { code: "unknown_node" } });
    const bad = await b.app.inject({ method: "POST", url: LEASES, payload: { nodes: 1 } });
    expect(bad.statusCode).toBe(400);
    expect(b.failures).toEqual([]);
  });

  test("a dead leader means 503 and a time to come back, until another one leads and has waited out the last lease", async () => {
    const [a, b, c] = await world.joinThree();
    const granted = await c.askLease("n0");
    expect(granted.body.lease).not.toBeNull();
    const grantedMs = world.clock.monotonic();
    await a.kill();
    expect(await b.askLease("n1")).toMatchObject({
      status: 503,
      retryAfter: "5",
      body: { code: "leader_unreachable" },
    });
    await world.clock.advance(24_000);
    const [leader, follower] = b.leadership.isLeader() ? [b, c] : [c, b];
    expect([leader.leadership.isLeader(), follower.leadership.isLeader()]).toEqual([true, false]);
    const starting = await follower.askLease("n1");
    expect(starting).toMatchObject({ status: 200, body: { lease: null } });
    expect(starting.body.retryAfterMs).toBeLessThanOrEqual(BANDWIDTH_LEASE_MS * 1.25);
    let firstGrantMs = 0;
    for (; firstGrantMs === 0; await world.clock.advance(1_000)) {
      const { body } = await follower.askLease("n1");
      if (body.lease !== null) firstGrantMs = world.clock.monotonic();
    }
    expect(firstGrantMs - grantedMs).toBeGreaterThanOrEqual(BANDWIDTH_LEASE_MS);
  });

  test("without any leader there is 503, and no request goes round in a circle", async () => {
    const { app } = await appBefore(null);
    expect(await post(app)).toEqual({ status: 503, retryAfter: "5", code: "no_leader" });
    const [, b, c] = await world.joinThree();
    const looping = await b.askLease("n0", { [FORWARDED_HEADER]: c.leadership.holder()!.identity });
    expect(looping).toMatchObject({ status: 503, body: { code: "not_leader" } });
    expect(b.failures).toEqual(["not_leader"]);
  });

  test("a leader that hangs costs its time limit, and not more than so many requests at once", async () => {
    const reached: string[] = [];
    const { app } = await impostor((request) => reached.push(String(request.headers[FORWARDED_HEADER])));
    const hanging = [post(app), post(app)];
    await until(() => reached.length === 2);
    expect(reached).toEqual(["r", "r"]);
    expect(await post(app)).toMatchObject({ status: 503, code: "forward_overload" });
    await world.clock.advance(3_000);
    expect(await Promise.all(hanging)).toEqual([
      { status: 503, retryAfter: "5", code: "leader_unreachable" },
      { status: 503, retryAfter: "5", code: "leader_unreachable" },
    ]);
    expect(world.clock.pending).toBe(0);
  });

  test.each<[string, RequestListener]>([
    ["a redirect", (_, response) => response.writeHead(307, { location: "http://127.0.0.1:1/" }).end()],
    ["an answer without end", (_, response) => void response.writeHead(200).write(Buffer.alloc(100_000, 32))],
    ["a connection that is cut", (request) => request.socket.destroy()],
  ])("%s is no answer", async (_, listener) => {
    const { app } = await impostor(listener);
    expect(await post(app)).toMatchObject({ status: 503, code: "leader_unreachable" });
  });

  test.each([null, "", "file:///etc/passwd", "nonsense"])("an address like %j is not asked", async (url) => {
    const { app } = await appBefore({ identity: "x", url });
    expect(await post(app)).toMatchObject({ status: 503, code: "leader_unreachable" });
  });

  test("who asks is passed on, and nothing else of the client's headers", async () => {
    let headers: Readonly<Record<string, unknown>> = {};
    const { app } = await impostor((request, response) => {
      headers = request.headers;
      response.writeHead(429, { "retry-after": "7", "x-inner": "1" }).end("{}");
    });
    const answer = await post(app, { authorization: "Bearer t", cookie: "c" });
    expect(answer).toMatchObject({ status: 429, retryAfter: "7" });
    expect(headers).toMatchObject({ authorization: "Bearer t", [FORWARDED_HEADER]: "r" });
    expect(headers).not.toHaveProperty("cookie");
  });
});

test("metrics say who leads, who lives, and what could not be passed on", async () => {
  const leader = await world.join("a");
  const { clock, store, logger } = world;
  await clock.advance(1_000);
  const registry = createRegistry();
  const { leadership } = leader;
  const surroundings = {
    store,
    clock,
    random: seededRandom(1),
    logger,
    namespace: "isochrone",
    replica: "a",
  };
  const alive = new Replicas({ ...surroundings, url: () => null, leadership });
  const metrics = createReplicaMetrics(registry, () => ({
    leadership,
    replicas: alive,
    relay: leader.relay,
  }));
  await alive.start();
  await clock.advance(100);
  metrics.onForwardFailed("no_leader");
  const text = await registry.metrics();
  expect(text).toContain("isochrone_aggregator_leader 1\n");
  expect(text).toContain("isochrone_aggregator_live_replicas 1\n");
  expect(text).toContain('isochrone_aggregator_forward_failures_total{reason="no_leader"} 1\n');
  expect(text).toContain('isochrone_aggregator_forward_failures_total{reason="leader_unreachable"} 0\n');
  expect(text).toContain("isochrone_aggregator_key_reports_waiting 0\n");
  expect(text).toContain("isochrone_aggregator_key_reports_dropped_total 0\n");
  await alive.stop();
});
