import { systemClock } from "@isochrone/runtime";
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { connect, createServer } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ask } from "./testing/client.ts";
import { after, Counted, known, load } from "./testing/counted.ts";
import { DispatchRig, type RigEndpoint } from "./testing/dispatch-rig.ts";
import { snapshotOf } from "./testing/graphs.ts";

let rig: DispatchRig;
afterEach(() => rig.stop());

async function started(options?: ConstructorParameters<typeof DispatchRig>[0]): Promise<void> {
  rig = await new DispatchRig(options).start();
}

describe.each(["deadline", "least-request"] as const)("by %s", (policy) => {
  test("an endpoint that fails at once gets less than 1.5 of its share", async () => {
    await started({ config: { policy } });
    await rig.service("web");
    const failing = new Counted(after(0, 503));
    const others = [1, 2, 3].map(() => new Counted(after(5)));
    for (const { listener } of [failing, ...others]) await rig.endpoint(listener);
    await known(rig, 4);
    for (const each of [failing, ...others]) each.requests = 0;
    await load(rig, 400, 8);
    const all = [failing, ...others].reduce((sum, { requests }) => sum + requests, 0);
    expect(failing.requests / all).toBeLessThan(1.5 / 4);
    for (const { requests } of others) expect(requests / all).toBeGreaterThan(0.1 / 4);
  });
});

test("30 % of endpoints are replaced at once: none is asked after its slice has gone", async () => {
  await started();
  await rig.service("web");
  const endpoints: { counted: Counted; endpoint: RigEndpoint }[] = [];
  const add = async (): Promise<void> => {
    const counted = new Counted(after(2));
    endpoints.push({ counted, endpoint: await rig.endpoint(counted.listener) });
  };
  for (let each = 0; each < 10; each++) await add();
  await known(rig, 10);
  const over = new AbortController();
  const clients = Promise.all(
    Array.from({ length: 6 }, async () => {
      const statuses = new Set<number>();
      while (!over.signal.aborted) statuses.add((await ask(rig.port)).status);
      return [...statuses];
    }),
  );
  onTestFinished(() => over.abort());
  const within = { timeout: 30_000 };
  await vi.waitFor(() => expect(endpoints.every(({ counted }) => counted.requests > 0)).toBe(true), within);
  const gone = endpoints.slice(0, 3);
  for (const { endpoint } of gone) await rig.remove(endpoint);
  for (let each = 0; each < 3; each++) await add();
  await known(rig, 10);
  const then = gone.map(({ counted }) => counted.requests);
  await vi.waitFor(
    () => expect(endpoints.slice(10).every(({ counted }) => counted.requests > 5)).toBe(true),
    within,
  );
  over.abort();
  expect((await clients).flat().filter((status) => status !== 200)).toEqual([]);
  expect(gone.map(({ counted }) => counted.requests)).toEqual(then);
});

test("an endpoint that takes no connections costs no request its answer, whatever the method", async () => {
  await started();
  await rig.service("web");
  const server = createServer();
  const dead = await rig.listen(server);
  await new Promise((resolve) => server.close(resolve));
  await rig.slice("dead", dead);
  const bodies: string[] = [];
  await rig.endpoint((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.once("end", () => {
      bodies.push(body);
      response.end();
    });
  });
  await vi.waitFor(() => expect(ask(rig.port)).resolves.toMatchObject({ status: 200 }));
  for (let each = 0; each < 30; each++) {
    const answer = await ask(rig.port, { method: "POST", body: "whole" });
    expect(answer.status).toBe(200);
  }
  expect(bodies.filter((body) => body === "whole").length).toBe(30);
  expect((await rig.metric("retries_total"))[0]!.labels).toEqual({ fault: "connect" });
});

test("a site that is cut off costs a few requests some time, and none its answer", async () => {
  await started({ config: { connectTimeoutMs: 500 } });
  await rig.service("web");
  await rig.slice("cut-off", await silentPort());
  const live = new Counted(after(1));
  await rig.endpoint(live.listener);
  await known(rig, 2);
  const statuses = await load(rig, 60, 4);
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
  const waited = rig.dispatcher.decisions(null, 50).filter(({ tries }) => tries[0]!.fault === "connect");
  expect(waited.length).toBeLessThan(25);
  expect((await rig.metric("retries_total"))[0]!.labels).toEqual({ fault: "connect" });
});

/** A stalled process with a full accept queue: requests there get no response. */
async function silentPort(): Promise<number> {
  const program =
    'require("net").createServer().listen({ port: 0, host: "127.0.0.1", backlog: 1 }, function () { console.log(this.address().port) })';
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  child.kill("SIGSTOP");
  const port = Number(text.toString());
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const waiting = new AbortController();
    const isTaken = await Promise.race([
      once(socket, "connect").then(() => true),
      systemClock.sleep(300, waiting.signal).then(() => false),
    ]);
    waiting.abort();
    if (!isTaken) return port;
  }
}

test("what may have been done is not done again", async () => {
  await started();
  await rig.service("web");
  const counts = { GET: 0, POST: 0 };
  const breaks: RequestListener = (request, response) => {
    counts[request.method as "GET" | "POST"]++;
    response.destroy();
  };
  await rig.endpoint(breaks);
  await rig.endpoint(breaks);
  const post = { method: "POST", body: "once" };
  await vi.waitFor(async () =>
    expect(await ask(rig.port, post)).toMatchObject({
      status: 502,
      headers: { "isochrone-reason": "broken_off" },
    }),
  );
  const before = { ...counts };
  await ask(rig.port, post);
  expect(counts.POST - before.POST).toBe(1);
  await vi.waitFor(async () => {
    await ask(rig.port);
    expect(rig.dispatcher.decisions(null, 1)[0]!.endpoints).toBe(2);
  });
  const { GET } = counts;
  expect(await ask(rig.port)).toMatchObject({ status: 502 });
  expect(counts.GET - GET).toBe(2);
});

test("retries end where endpoints fail all the time", async () => {
  await started();
  await rig.service("web");
  const counted = [1, 2, 3].map(() => new Counted((_request, response) => response.destroy()));
  for (const { listener } of counted) await rig.endpoint(listener);
  await vi.waitFor(async () => {
    await ask(rig.port);
    expect(rig.dispatcher.decisions(null, 1)[0]?.endpoints).toBe(3);
  });
  for (const each of counted) each.requests = 0;
  await load(rig, 200, 4);
  const sent = counted.reduce((sum, { requests }) => sum + requests, 0);
  expect(sent).toBeLessThan(200 * 1.2 + 15);
});

test("an endpoint that hangs loses the requests with a deadline", async () => {
  await started();
  await rig.service("web");
  const hangs = new Counted(() => undefined);
  await rig.endpoint(hangs.listener);
  await rig.endpoint(after(1));
  const asked = { headers: { "x-envoy-upstream-rq-timeout-ms": "100" } };
  await vi.waitFor(async () => {
    await ask(rig.port, asked);
    expect(rig.dispatcher.decisions(null, 1)[0]?.endpoints).toBe(2);
  });
  await vi.waitFor(() => expect(hangs.requests).toBeGreaterThan(0));
  hangs.requests = 0;
  const statuses: number[] = [];
  for (let each = 0; each < 40; each++) statuses.push((await ask(rig.port, asked)).status);
  expect(hangs.requests).toBeLessThan(8);
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(20);
});

describe("round trips", () => {
  const WEST_AND_EAST = snapshotOf({ "node-west": "west", "node-east": "east" }, 20);

  test("keep requests near while there is room, and let them spill when there is none", async () => {
    await started({
      config: { node: "node-west" },
      graphs: { cluster: async () => WEST_AND_EAST },
    });
    await rig.service("web", { annotations: { "isochrone.dev/deadline": "200ms" } });
    let busy = 0;
    const queue: (() => void)[] = [];
    const next = (): void => {
      const work = queue[0];
      if (work === undefined || busy > 0) return;
      busy = 1;
      queue.shift();
      setTimeout(() => {
        busy = 0;
        work();
        next();
      }, 10);
    };
    const near = new Counted((_request, response) => {
      queue.push(() => response.end());
      next();
    });
    const far = new Counted(after(30));
    await rig.endpoint(near.listener);
    await rig.endpoint(far.listener, { zone: "east", node: "node-east" });
    await known(rig, 2);
    for (let each = 0; each < 20; each++) await ask(rig.port);
    expect(near.requests / (near.requests + far.requests)).toBeGreaterThan(0.8);
    near.requests = far.requests = 0;
    await load(rig, 100, 10);
    expect(far.requests).toBeGreaterThan(30);
    expect(near.requests).toBeGreaterThan(10);
  });

  test("that nobody tells leave all endpoints equally near, by load alone, and it is said", async () => {
    await started({ config: { node: "node-west" } });
    await rig.service("web");
    const near = new Counted(after(5));
    const far = new Counted(after(5));
    await rig.endpoint(near.listener);
    await rig.endpoint(far.listener, { zone: "east", node: "node-east" });
    await known(rig, 2);
    await load(rig, 200, 4);
    expect(Math.min(near.requests, far.requests)).toBeGreaterThan(20);
    expect((await rig.metric("graph_age_seconds"))[0]!.value).toBeNaN();
    expect(rig.logger.lines.some(({ event }) => event.includes("cluster graph can't be read"))).toBe(true);
  });

  test("don't depend on anybody's time of day", async () => {
    const hours = 7 * 3_600_000;
    await started({
      config: { node: "node-west" },
      graphs: { cluster: async () => WEST_AND_EAST },
      clock: {
        now: () => systemClock.now() - hours,
        monotonic: () => systemClock.monotonic(),
        sleep: (ms, signal) => systemClock.sleep(ms, signal),
      },
    });
    await rig.service("web");
    await rig.endpoint(after(5));
    await rig.endpoint(after(25), { zone: "east", node: "node-east" });
    await known(rig, 2);
    const asked = { headers: { "grpc-timeout": "30S" } };
    for (let each = 0; each < 10; each++) expect(await ask(rig.port, asked)).toMatchObject({ status: 200 });
    const decisions = rig.dispatcher.decisions(null, 10);
    expect(decisions.map(({ leftMs }) => leftMs)).toEqual(decisions.map(() => 30_000));
    for (const { zone, roundTripMs } of decisions.flatMap(({ tries }) => tries))
      expect([zone, roundTripMs > 10]).toEqual([zone, zone === "east"]);
    expect((await rig.metric("graph_age_seconds"))[0]!.value).toBeLessThan(60);
  });
});

test("a Service whose annotation goes is served no more", async () => {
  await started();
  await rig.service("web");
  await rig.endpoint(after(0));
  await vi.waitFor(async () => expect((await ask(rig.port)).status).toBe(200));
  await rig.store.patch(
    { apiVersion: "v1", kind: "Service", name: "web", namespace: "shop" },
    { metadata: { annotations: { "isochrone.dev/dispatch": "advise" } } },
  );
  await vi.waitFor(async () => expect((await ask(rig.port)).status).toBe(404));
});

test("endpoints that name no zone and no node are asked like others", async () => {
  await started({
    config: { node: "node-west" },
    graphs: { cluster: async () => snapshotOf({ "node-west": "west" }, 20) },
  });
  await rig.service("web");
  const bare = new Counted(after(1));
  const cased = new Counted(after(1));
  await rig.endpoint(bare.listener, { zone: "", node: "" });
  await rig.endpoint(cased.listener, { zone: "WEST", node: "" });
  await known(rig, 2);
  await vi.waitFor(async () => {
    expect(await load(rig, 20, 4)).not.toContain(503);
    expect(Math.min(bare.requests, cased.requests)).toBeGreaterThan(0);
  });
});
