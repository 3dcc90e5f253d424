// Many tabs of one browser on a real aggregator: one event stream, few connections, and all tabs live.
import { readFileSync } from "node:fs";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hasBrowser, launchBrowser } from "../harness/browser.ts";
import { startPageTestbed, type PageTestbed } from "../harness/page-testbed.ts";

const TABS = 20;
const VISITS = 20;
const PATIENCE_MS = 30_000;
/** Connections per server that a browser opens over HTTP/1.1. */
const MAX_CONNECTIONS = 6;
const OWN_CONNECTIONS = 2;

describe.runIf(hasBrowser)("tabs of one browser", () => {
  let testbed: PageTestbed;
  let browser: Browser;
  let context: BrowserContext;
  let probes: ReturnType<typeof setInterval> | undefined;

  beforeAll(async () => {
    testbed = await startPageTestbed({ nodes: 4, zoneSize: 2, degree: 3 });
    probes = setInterval(() => void testbed.publish(), 1_000);
    browser = await launchBrowser({ hasBackForwardCache: true });
  }, 60_000);

  beforeEach(async () => {
    context = await browser.newContext();
  });

  afterEach(async () => {
    await context.close();
  });

  afterAll(async () => {
    clearInterval(probes);
    await browser?.close();
    await testbed?.stop();
  });

  const streams = async (): Promise<number> => {
    const text = await (await fetch(`${testbed.url}/metrics`)).text();
    return Number(/^isochrone_aggregator_event_clients (\d+)$/m.exec(text)?.[1]);
  };
  const connections = (): number => {
    const port = Number(new URL(testbed.url).port).toString(16).toUpperCase().padStart(4, "0");
    const held = new RegExp(`^ *\\d+: [0-9A-F]+:${port} [0-9A-F:]+ 01 `);
    return readFileSync("/proc/net/tcp", "utf8")
      .split("\n")
      .filter((line) => held.test(line)).length;
  };
  const isLive = async (page: Page): Promise<void> => {
    await expect
      .poll(() => page.locator("#freshness").textContent(), { timeout: PATIENCE_MS })
      .toMatch(/^live/);
  };
  const showsSlow = async (page: Page): Promise<void> => {
    await expect
      .poll(() => page.locator("#worst tbody tr").first().textContent(), { timeout: PATIENCE_MS })
      .toMatch(/[34]\d\d(\.\d)? ms/);
  };

  test("twenty tabs are live and updated over one event stream", async () => {
    const pages: Page[] = [];
    for (let index = 0; index < TABS; index++) {
      const page = await context.newPage();
      await page.goto(`${testbed.url}/#/network`);
      pages.push(page);
    }
    for (const page of pages) await isLive(page);
    expect(await streams()).toBe(1);
    expect(connections()).toBeLessThanOrEqual(MAX_CONNECTIONS + OWN_CONNECTIONS);
    testbed.set(0, 1, 400);
    for (const page of pages) await showsSlow(page);
    expect(await streams()).toBe(1);
    for (const page of pages.slice(1)) await page.close();
    await isLive(pages[0]!);
    expect(await streams()).toBe(1);
    await pages[0]!.close();
    await expect.poll(streams, { timeout: PATIENCE_MS }).toBe(0);
  }, 300_000);

  const waysToFollow = [
    ["over the shared stream", "", 1],
    ["without a SharedWorker", "delete globalThis.SharedWorker", 0],
  ] as const;

  // A browser may freeze the worker before it learns that its page has left, so one stream may stay open.
  test.each(waysToFollow)(
    "visits with other pages between leave no connection behind, %s",
    async (_name, script, kept) => {
      const page = await context.newPage();
      await page.addInitScript(script);
      for (let visit = 0; visit < VISITS; visit++) {
        await page.goto(`${testbed.url}/?visit=${visit}#/network`);
        await isLive(page);
        await page.goto("about:blank");
      }
      await expect.poll(streams, { timeout: PATIENCE_MS }).toBeLessThanOrEqual(kept);
      expect(connections()).toBeLessThanOrEqual(MAX_CONNECTIONS + OWN_CONNECTIONS);
    },
    150_000,
  );

  test.each(waysToFollow)(
    "back and forth leaves no connection behind, %s",
    async (_name, script) => {
      // Playwright loses a page that returns from the back/forward cache.
      const plain = await launchBrowser();
      try {
        const page = await plain.newPage();
        await page.addInitScript(script);
        await page.goto(`${testbed.url}/#/network`);
        await page.goto("about:blank");
        for (let turn = 0; turn < VISITS; turn++) {
          await page.goBack();
          await isLive(page);
          await page.goForward();
        }
        await page.goBack();
        await isLive(page);
        await expect.poll(streams, { timeout: PATIENCE_MS }).toBe(1);
        expect(connections()).toBeLessThanOrEqual(MAX_CONNECTIONS + OWN_CONNECTIONS);
      } finally {
        await plain.close();
      }
      await expect.poll(streams, { timeout: PATIENCE_MS }).toBe(0);
    },
    150_000,
  );

  test("a part that waits for long says what for, and why", async () => {
    const page = await context.newPage();
    await page.route("**/api/v1/graph/cluster/columns**", () => undefined);
    await page.goto(`${testbed.url}/#/network`);
    await expect
      .poll(() => page.locator(".wait-reason").first().textContent(), { timeout: PATIENCE_MS })
      .toMatch(/^No answer from \/api\/v1\/graph\/cluster\/columns for \d+ s: the server is ready/);
    await page.close();
  }, 120_000);
});
