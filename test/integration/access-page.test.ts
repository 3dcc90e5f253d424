import { createMemoryBus } from "@isochrone/bus/memory";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { createPage } from "@isochrone/dashboard";
import { accessGate, type AccessDecision } from "@isochrone/kubernetes/access";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, systemClock, systemRandom } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser, launchBrowser } from "../harness/browser.ts";

const ALLOWED: AccessDecision = { kind: "allowed", node: null, pod: null, user: "reader" };

let browser: Browser;
let aggregator: Aggregator;
let accepted: string;
/** Access decision for the accepted token. */
let judgement: AccessDecision;
let asked: { readonly token: string; readonly path: string | null }[];

function gate() {
  return accessGate({
    pathPrefix: "/isochrone",
    review: {
      decide({ token, path }) {
        asked.push({ token, path });
        return token === accepted
          ? judgement
          : { kind: "unauthenticated", detail: "the bearer token is not accepted" };
      },
    },
  });
}

async function enter(page: Page, token: string): Promise<void> {
  await page.fill("#token", token);
  await page.click("#token-form button");
}

const isShown = (page: Page): Promise<boolean> => page.locator("#token-form").isVisible();

describe.runIf(hasBrowser)("the page on a server that asks for tokens", () => {
  beforeAll(async () => {
    accepted = "first-token";
    judgement = ALLOWED;
    asked = [];
    const { aggregator: config } = loadSettings([aggregatorSettings], {
      env: {},
      file: { aggregator: { host: "127.0.0.1", port: 0, buildIntervalMs: 200 } },
    });
    const node = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "the-node" },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    };
    const store = createMemoryStore({ clock: systemClock });
    await store.create(node);
    aggregator = createAggregator(config, {
      bus: createMemoryBus({ clock: systemClock }),
      store,
      clock: systemClock,
      random: systemRandom,
      logger: new MemoryLogger(),
      registry: createRegistry(),
      page: createPage(),
      access: { gate: gate(), isMetricsOpen: true },
    });
    await aggregator.start();
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await aggregator?.stop();
  });

  test("asks for a token, says when it isn't accepted, shows the graph with a good one, and follows events with it", async () => {
    const page = await browser.newPage();
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.message));
    await page.goto(`${aggregator.address().url}/#/network`);
    await page.waitForSelector("#token-form", { state: "visible" });
    expect(await page.locator("#token-mistake").textContent()).toBe("");
    await enter(page, "wrong-token");
    await expect.poll(() => page.locator("#token-mistake").textContent()).toContain("not accepted");
    await enter(page, "first-token");
    await page.waitForSelector("#nodes td:has-text('the-node')", { timeout: 10_000 });
    await page.waitForSelector("#token-form", { state: "hidden" });
    await expect
      .poll(() => asked.some(({ token, path }) => token === accepted && path === "/isochrone/api/v1/events"))
      .toBe(true);
    expect(page.url()).not.toContain("token");
    expect(await page.context().cookies()).toEqual([]);

    // This tab remembers the token; another tab does not.
    await page.reload();
    await page.waitForSelector("#nodes td:has-text('the-node')");
    expect(await isShown(page)).toBe(false);
    const other = await browser.newPage();
    await other.goto(aggregator.address().url);
    await other.waitForSelector("#token-form", { state: "visible" });

    // The token expires. The page asks for the next one and keeps its content.
    accepted = "second-token";
    await page.waitForSelector("#token-form", { state: "visible", timeout: 20_000 });
    expect(await page.locator("#nodes").textContent()).toContain("the-node");
    await enter(page, "second-token");
    await page.waitForSelector("#token-form", { state: "hidden" });
    expect(faults).toEqual([]);
  });

  test("names the right that an account lacks, takes another token then, and forgets it all at sign-out", async () => {
    accepted = "third-token";
    judgement = { kind: "forbidden", user: "visitor", detail: "visitor needs a ClusterRole" };
    const page = await browser.newPage();
    await page.goto(`${aggregator.address().url}/#/network`);
    await page.waitForSelector("#token-form", { state: "visible" });
    await enter(page, "third-token");
    await expect.poll(() => page.locator("#token-mistake").textContent()).toContain("needs a ClusterRole");
    expect(await page.locator("main section").count()).toBe(0);
    judgement = ALLOWED;
    await enter(page, "third-token");
    await page.waitForSelector("#nodes td:has-text('the-node')");
    expect(await isShown(page)).toBe(false);

    await page.click("#sign-out");
    await page.waitForSelector("#token-form", { state: "visible" });
    expect(await page.textContent("body")).not.toContain("the-node");
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  });

  test("says that nobody can be judged while the API server is away, keeps the token, and goes on by itself", async () => {
    accepted = "fourth-token";
    judgement = { kind: "unavailable", detail: "the API server can't be asked" };
    const page = await browser.newPage({ viewport: { width: 400, height: 800 } });
    await page.goto(`${aggregator.address().url}/#/network`);
    await page.waitForSelector("#token-form", { state: "visible" });
    await enter(page, "fourth-token");
    await expect.poll(() => page.locator("#freshness").textContent()).toContain("can't be asked");
    expect(await isShown(page)).toBe(false);
    expect(await page.locator("#change").textContent()).toContain("can't be asked");
    judgement = ALLOWED;
    await page.waitForSelector("#nodes td:has-text('the-node')", { timeout: 20_000 });
    // Only scrollable regions may be wider than a phone's screen.
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  test("asks a server that has refused a token no more than now and then with it", async () => {
    accepted = "fifth-token";
    const page = await browser.newPage();
    await page.goto(`${aggregator.address().url}/#/network`);
    await page.waitForSelector("#token-form", { state: "visible" });
    await enter(page, "refused-token");
    await page.waitForSelector("#token-mistake:not(:empty)");
    // Waits for several rounds of the page's polling and of its event stream.
    const times = (): number => asked.filter(({ token }) => token === "refused-token").length;
    const before = times();
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 9_000))");
    expect(times() - before).toBeLessThanOrEqual(2);
  });
});
