// Faults of endpoints and of what the dispatcher is told.
import { systemClock } from "@isochrone/runtime";
import { createServer as createHttp1, type RequestListener } from "node:http";
import { createServer } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ask } from "./testing/client.ts";
import { DispatchRig, type RigEndpoint } from "./testing/dispatch-rig.ts";
import { snapshotOf } from "./testing/graphs.ts";

let rig: DispatchRig;
afterEach(() => rig.stop());

async function started(options?: ConstructorParameters<typeof DispatchRig>[0]): Promise<void> {
  rig = await new DispatchRig(options).start();
}

/** An endpoint that counts what it gets. */
class Counted {
  requests = 0;
  readonly listener: RequestListener;

  constructor(answer: RequestListener) {
    this.listener = (request, response) => {
      this.requests++;
      return answer(request, response);
    };
  }
}

const after =
  (ms: number, status = 200): RequestListener =>
  (_request, response) =>
    void setTimeout(() => response.writeHead(status).end(), ms);

/** Many at once, as a few clients with connections of their own send them. */
async function load(requests: number, clients: number): Promise<number[]> {
  const statuses: number[] = [];
  const client = async (): Promise<void> => {
    while (statuses.length < requests) {
      const at = statuses.push(0) - 1;
      statuses[at] = (await ask(rig.port)).status;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return statuses;
}

async function known(endpoints: number): Promise<void> {
  await vi.waitFor(async () => {
    await ask(rig.port);
    expect(rig.dispatcher.decisions(null, 1)[0]?.endpoints).toBe(endpoints);
  });
}

describe.each(["deadline", "least-request"] as const)("by %s", (policy) => {
  test("an endpoint that fails at once gets less than 1.5 of its share", async () => {
    await started({ config: { policy } });
    await rig.service("web");
    const failing = new Counted(after(0, 503));
    const others = [1, 2, 3].map(() => new Counted(after(5)));
    for (const { listener } of [failing, ...others]) await rig.endpoint(listener);
    await known(4);
    for (const each of [failing, ...others]) each.requests = 0;
    await load(400, 8);
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
  await known(10);
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
  await known(10);
  const then = gone.map(({ counted }) => counted.requests);
  await vi.waitFor(
    () => expect(endpoints.slice(10).every(({ counted }) => counted.requests > 5)).toBe(true),
    within,
  );
  over.abort();
  // Every answer was one of an endpoint.
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
  await load(200, 4);
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
    // One request at a time.
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
    // With its way.
    const far = new Counted(after(30));
    await rig.endpoint(near.listener);
    await rig.endpoint(far.listener, { zone: "east", node: "node-east" });
    await known(2);
    for (let each = 0; each < 20; each++) await ask(rig.port);
    expect(near.requests / (near.requests + far.requests)).toBeGreaterThan(0.8);
    near.requests = far.requests = 0;
    await load(100, 10);
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
    await known(2);
    await load(200, 4);
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
    await known(2);
    await load(40, 1);
    const zones = rig.dispatcher.decisions(null, 20).map(({ tries }) => tries[0]!.zone);
    expect(zones.filter((zone) => zone === "west").length).toBeGreaterThan(12);
    expect((await rig.metric("graph_age_seconds"))[0]!.value).toBeLessThan(60);
  });
});

describe("what endpoints say of their load", () => {
  const reporting =
    (header: string): RequestListener =>
    (_request, response) => {
      response.setHeader("endpoint-load-metrics", header);
      response.end();
    };

  test("keeps requests away from full ones", async () => {
    await started();
    await rig.service("web");
    const full = new Counted(reporting("TEXT cpu_utilization=0.99,rps_fractional=100"));
    const idle = new Counted(reporting('JSON {"cpuUtilization": 0.05, "rpsFractional": 10}'));
    await rig.endpoint(full.listener);
    await rig.endpoint(idle.listener);
    await known(2);
    await vi.waitFor(async () => {
      await ask(rig.port);
      expect(full.requests).toBeGreaterThan(0);
      expect(idle.requests).toBeGreaterThan(0);
    });
    full.requests = idle.requests = 0;
    await load(60, 2);
    expect(idle.requests / (idle.requests + full.requests)).toBeGreaterThan(0.8);
    const [taken] = await rig.metric("load_reports_total");
    expect(taken!.labels).toEqual({ result: "taken" });
  });

  test.each([
    "TEXT cpu_utilization=-1",
    "TEXT cpu_utilization=NaN",
    "TEXT cpu_utilization=1e300",
    "TEXT cpu_utilization",
    "JSON {",
    'JSON {"cpu_utilization": "0.5"}',
    "JSON []",
    "BIN AAAA",
    "nonsense",
    `TEXT cpu_utilization=0.5,named_metrics.x=${"9".repeat(5_000)}`,
  ])("is passed over where it can't be: %s", async (header) => {
    await started();
    await rig.service("web");
    await rig.endpoint(reporting(header));
    await vi.waitFor(async () => expect((await ask(rig.port)).status).toBe(200));
    expect(await rig.metric("load_reports_total")).toMatchObject([
      { labels: { result: "malformed" }, value: 1 },
    ]);
  });

  test("is asked where the Service names a path; hanging, lying and endless answers do no harm", async () => {
    await started();
    await rig.service("web", { annotations: { "isochrone.dev/load-path": "/load" } });
    let wasAsked = 0;
    const probed =
      (answer: RequestListener): RequestListener =>
      (request, response) => {
        if (request.url !== "/load") return void response.end();
        wasAsked++;
        return answer(request, response);
      };
    await rig.endpoint(probed((_request, response) => response.end('{"application_utilization": 0.2}')));
    await rig.endpoint(probed(() => undefined));
    await rig.endpoint(
      probed((_request, response) => {
        const endless = setInterval(() => response.write("x".repeat(1_000)), 5);
        response.once("close", () => clearInterval(endless));
      }),
    );
    await rig.endpoint(probed((_request, response) => response.end('{"cpu_utilization": 1e308}')));
    await known(4);
    await vi.waitFor(
      async () => {
        expect(await load(20, 2)).not.toContain(503);
        const results = (await rig.metric("probes_total")).map(({ labels }) => labels);
        expect(results).toEqual(
          expect.arrayContaining([{ result: "taken" }, { result: "malformed" }, { result: "failed" }]),
        );
      },
      { timeout: 10_000 },
    );
    expect(wasAsked).toBeGreaterThan(3);
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

test("slices of another controller than Kubernetes' own name nobody", async () => {
  await started();
  await rig.service("web");
  const port = await rig.listen(createHttp1(after(0)));
  await rig.store.create({
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "foreign", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    ports: [{ name: "http", port }],
    endpoints: [{ addresses: ["127.0.0.1"] }],
  } as never);
  await vi.waitFor(async () =>
    expect(await ask(rig.port)).toMatchObject({
      status: 503,
      headers: { "isochrone-reason": "no_endpoints" },
    }),
  );
});
