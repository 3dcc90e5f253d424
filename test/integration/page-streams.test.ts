import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../harness/browser.ts";
import { startPageTestbed, type PageTestbed } from "../harness/page-testbed.ts";
import { PageVisit } from "../harness/page-visit.ts";

const EVIL = '<img src=x onerror="alert(1)">';

const flow = (from: string | null, to: string, route: readonly string[], bitsPerSecond: number) => ({
  from,
  to,
  bytesPerFrame: 125_000,
  bitsPerSecond,
  sentBitsPerSecond: null,
  route,
});

const job = (name: string, fields: object) => ({
  namespace: "site",
  name,
  phase: "Running",
  framesPerSecond: 5,
  measuredFramesPerSecond: null,
  minThroughput: null,
  limit: { kind: "task", task: "detect", node: "node-0001" },
  waits: null,
  tasks: [{ name: "detect", node: "node-0001", secondsPerFrame: 0.2 }],
  flows: [flow("decode", "detect", ["node-0002", "node-0001"], 5e6)],
  ...fields,
});

const JOBS = [
  job("gate", {}),
  job(EVIL, { limit: { kind: "link", source: "node-0002", target: "node-0001" }, minThroughput: 6 }),
  job("waits", {
    phase: "Waiting",
    framesPerSecond: null,
    limit: null,
    tasks: [],
    flows: [],
    waits: { reason: "NoRoom", message: "task detect needs 9000m CPU, which no node has left" },
  }),
];

const PLAN = {
  version: "1",
  node: "node-0002",
  epoch: "e",
  generation: 1,
  neighbours: [{ node: "node-0001", address: "10.0.0.1", capacityBitsPerSecond: 1e7 }],
  flows: [
    {
      id: "site/gate/decode->detect",
      owner: { kind: "StreamJob", namespace: "site", name: "gate" },
      protocol: "tcp",
      source: { node: "node-0002", address: "10.0.0.2", port: null },
      target: { node: "node-0001", address: "10.0.0.1", port: 7000 },
      next: "node-0001",
      previous: null,
      routed: false,
      bitsPerSecond: 5e6,
    },
  ],
};

describe.runIf(hasBrowser)("the page of streams", { timeout: 120_000 }, () => {
  let plugin: Server;
  let testbed: PageTestbed;
  let visit: PageVisit;
  let answer: { status: number; jobs: readonly object[] } = { status: 200, jobs: JOBS };

  beforeAll(async () => {
    plugin = createServer((request, response) => {
      const { status, jobs } = answer;
      const body = request.url === "/api/v1/flow-plans" ? { plans: jobs.length > 0 ? [PLAN] : [] } : { jobs };
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => plugin.listen(0, "127.0.0.1", resolve));
    const decisionsUrl = `http://127.0.0.1:${(plugin.address() as AddressInfo).port}`;
    testbed = await startPageTestbed({ nodes: 4, zoneSize: 2, degree: 2, settings: { decisionsUrl } });
    visit = await PageVisit.open(testbed.url);
  }, 180_000);

  afterAll(async () => {
    await visit?.close();
    await testbed?.stop();
    plugin?.closeAllConnections();
    plugin?.close();
  });

  test("shows jobs with what limits or delays them, those with trouble first, and links by use", async () => {
    await visit.goTo("/streams");
    const { page } = visit;
    await page.waitForSelector("#stream-jobs tbody tr");
    expect(await visit.column("#stream-jobs", 1)).toEqual([`site/${EVIL}`, "site/waits", "site/gate"]);
    expect(await visit.column("#stream-jobs", 2)).toEqual(["running", "waiting", "running"]);
    const limits = await page.locator("#stream-jobs tbody td:last-child").count();
    expect(limits).toBe(3);
    const text = (await page.locator("#stream-jobs").textContent())!;
    expect(text).toContain("its promise is broken");
    expect(text).toContain("task detect needs 9000m CPU, which no node has left");
    expect(text).toContain("task detect on node-0001");
    expect(await visit.column("#stream-links", 1)).toEqual(["node-0002 → node-0001"]);
    expect((await visit.column("#stream-links", 2))[0]).toContain("50 %");
    expect(await page.locator("#stream-links a").getAttribute("href")).toBe("#/pair/node-0002/node-0001");
    expect(await visit.barriers()).toEqual([]);
  });

  test("opens a job, and fits a telephone", async () => {
    const { page } = visit;
    await page.setViewportSize({ width: 400, height: 800 });
    await page.getByRole("link", { name: "site/gate" }).click();
    await page.waitForSelector("#flows tbody tr");
    expect(await page.locator("h1").textContent()).toBe("site/gate");
    expect(await visit.column("#tasks", 1)).toEqual(["detect"]);
    expect(await visit.column("#flows", 1)).toEqual(["decode → detect"]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(await visit.barriers()).toEqual([]);
    await visit.goTo("/streams/site/nowhere");
    await expect.poll(() => page.locator("main").textContent()).toContain("There is no such job");
  });

  test("says that there is no job, that nobody runs them, and that of a moment nothing is kept", async () => {
    const { page } = visit;
    const main = (): Promise<string | null> => page.locator("main").textContent();
    answer = { status: 200, jobs: [] };
    await visit.goTo("/streams");
    await expect.poll(main, { timeout: 15_000 }).toContain("There is no stream job");
    expect(await main()).toContain("No flow crosses a link");
    answer = { status: 503, jobs: [] };
    await page.reload();
    await expect.poll(main, { timeout: 15_000 }).toContain("Nobody runs stream jobs here");
    expect(await visit.barriers()).toEqual([]);
    await visit.goTo("/streams?at=2020-01-01T00:00:00Z");
    await expect.poll(main, { timeout: 15_000 }).toMatch(/No streams are stored|no graph is stored/);
  });
});
