// The overview page and a node's map, in a real browser on a real aggregator with a counted workflow.
import { LabTimeline } from "@isochrone/lab";
import { systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { hasBrowser } from "../harness/browser.ts";
import { POD, serveDecisions, SLOW_JOB } from "../harness/page-decisions.ts";
import { startPageTestbed, type PageTestbed } from "../harness/page-testbed.ts";
import { PageVisit } from "../harness/page-visit.ts";

const NODES = 6;
const FIRST = "node-0001";
/** In another zone of the region, like the last one. */
const LAST = "node-0006";
const PATIENCE = { timeout: 30_000 };

describe.runIf(hasBrowser)("the overview and the map", () => {
  let testbed: PageTestbed;
  let visit: PageVisit;
  let page: Page;
  let publishing: ReturnType<typeof setInterval>;

  beforeAll(async () => {
    testbed = await startPageTestbed({
      nodes: NODES,
      zoneSize: 2,
      degree: NODES - 1,
      shop: [
        ["front", 0],
        ["cart", 5],
        ["store", 0],
      ],
    });
    publishing = setInterval(() => void testbed.publish(), 1_000);
    visit = await PageVisit.open(`${testbed.url}/#/`);
    page = visit.page;
  }, 60_000);

  afterAll(async () => {
    clearInterval(publishing);
    await visit?.close();
    await testbed?.stop();
  });

  const tile = (label: string) => page.locator(".tile", { hasText: label }).textContent();

  async function median(source: string, target: string): Promise<number> {
    let found: number | null = null;
    const look = async (): Promise<number | null> => {
      const response = await fetch(`${testbed.url}/api/v1/graph/cluster`);
      const { links } = (await response.json()) as ClusterGraphSnapshot;
      const link = links.find((each) => each.source === source && each.target === target);
      return (found = link?.rttMs.p50 ?? null);
    };
    await expect.poll(look, PATIENCE).not.toBeNull();
    return found!;
  }

  test("the page begins with it: network time per request is the calls' round trips, and what isn't known says so", async () => {
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    // Each request travels to and fro: front to cart, cart to store.
    const expected = (await median(FIRST, LAST)) + (await median(LAST, FIRST));
    await expect
      .poll(
        async () =>
          Number.parseFloat(/request([\d.]+)/.exec((await tile("Network time per request"))!)?.[1] ?? ""),
        PATIENCE,
      )
      .toSatisfy((ms: number) => Math.abs(ms - expected) < 0.5);
    expect(await tile("The best plan would save")).toContain("–");
    expect(await page.locator(".tile", { hasText: "End to end" }).count()).toBe(0);
    await expect
      .poll(() => page.locator("main").textContent(), PATIENCE)
      .toContain("Latency end to end isn't known here");
    expect(await visit.barriers()).toEqual([]);
  });

  test("a pair without an answer is the first of the worst things, and leads to its page", async () => {
    testbed.set(2, 3, null);
    const first = page.locator(".concerns li a").first();
    await expect.poll(() => first.textContent(), { timeout: 90_000 }).toMatch(/node-0003.*node-0004/);
    await first.click();
    await page.waitForSelector("h1:has-text('→')");
    // The newest sample is a lost packet, so there is no response time.
    await expect.poll(() => tile("Newest answer"), PATIENCE).toMatch(/before \d\d:|ago/);
    expect(await tile("Newest answer")).not.toContain("now");
    await expect.poll(() => page.locator(".loss .lost").count(), PATIENCE).toBe(1);
    expect(await visit.barriers()).toEqual([]);
  });

  test("a node of the map shows rings around itself, with the others as far away as they answer", async () => {
    await visit.goTo("/network/map");
    await page.waitForSelector("#map a .node", PATIENCE);
    await page
      .locator("#map a", { has: page.locator(".node") })
      .first()
      .focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.url()).toContain("/network/map/node-0001");
    await expect.poll(() => page.locator("#map .ring").count()).toBe(4);
    expect(await page.locator("#map circle.node").count()).toBe(NODES);
    const shown = await visit.column("#ways", 2);
    const ways = await visit.column("#ways", 1);
    expect(Number.parseFloat(shown[ways.indexOf(LAST)]!)).toBeCloseTo(await median(FIRST, LAST), 0);
    expect(shown.map(Number.parseFloat)).toEqual(shown.map(Number.parseFloat).toSorted((a, b) => a - b));
    expect(await page.locator("#map .pod").count()).toBe(3);
    expect(await page.locator("#map .traffic line").count()).toBe(2);
    expect(await visit.barriers()).toEqual([]);
  });

  test("a pod that is dragged to another node says what that would change, and so do the keys; nothing is moved", async () => {
    const said = () => page.locator("#what-if").textContent();
    await expect.poll(() => page.locator("#map .pod.moved").count()).toBe(0);
    await page.getByLabel("Move cart-7d4b9c6f58-x2x2x to").selectOption(FIRST);
    await expect.poll(said).toMatch(/With 1 pod elsewhere: .* → 0 ms network time per request/);
    await page.getByRole("button", { name: "As today" }).click();
    await expect.poll(() => page.locator("#map .pod.moved").count()).toBe(0);
    await page.locator("#map circle.from").scrollIntoViewIfNeeded();
    const pod = (await page.locator('#map .pod[data-pod^="cart"]').boundingBox())!;
    const target = (await page.locator("#map circle.from").boundingBox())!;
    await page.mouse.move(pod.x + pod.width / 2, pod.y + pod.height / 2);
    await page.mouse.down();
    await page.mouse.move(target.x + 30, target.y + 20, { steps: 4 });
    await page.mouse.move(target.x + target.width / 2, target.y + target.height / 2, { steps: 4 });
    // Shown while the pod still hovers over the node.
    await expect.poll(said).toMatch(/→ 0 ms network time per request/);
    await page.mouse.up();
    await expect.poll(said).toMatch(/With 1 pod elsewhere: .* → 0 ms/);
    const workflow = (await (await fetch(`${testbed.url}/api/v1/graph/workflows/shop/shop`)).json()) as {
      readonly workloads: readonly {
        readonly name: string;
        readonly pods: readonly { readonly node: string }[];
      }[];
    };
    expect(workflow.workloads.find(({ name }) => name === "cart")?.pods[0]?.node).toBe(LAST);
    expect(visit.faults.filter((fault) => !fault.startsWith("Failed to load resource"))).toEqual([]);
  });
});

const ISOCHRONE = join(import.meta.dirname, "../../cli/bin/isochrone.mjs");
const MOST_CLICKS = 3;
const NO_LINK = { rttMs: 1, jitterMs: 0, lossRatio: 0, bandwidthBitsPerSecond: null, cut: false };

describe.runIf(hasBrowser)("a stranger's five tasks", { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-tasks-"));
  let plugin: Awaited<ReturnType<typeof serveDecisions>>;
  let testbed: PageTestbed;
  let visit: PageVisit;
  let page: Page;
  let publishing: ReturnType<typeof setInterval>;

  beforeAll(async () => {
    plugin = await serveDecisions();
    const prices = join(folder, "prices.yaml");
    const row = { provider: "own", scope: "same-zone", from: "*", out: 0, in: 0, per: "GB" };
    const rows = [{ ...row, currency: "EUR", source: "ours", date: "2026-10" }];
    writeFileSync(prices, JSON.stringify({ replace: true, prices: rows }));
    const timeline = new LabTimeline({ cluster: () => null, clock: systemClock, logger: new MemoryLogger() });
    testbed = await startPageTestbed({
      nodes: NODES,
      zoneSize: 2,
      degree: NODES - 1,
      shop: [
        ["front", 0],
        ["cart", 5],
        ["store", 0],
      ],
      settings: { decisionsUrl: plugin.url },
      prices,
      emulator: {
        network: { link: () => NO_LINK, setLink: async () => undefined },
        timeline,
        token: "the-token_of-this-emulator",
      },
    });
    testbed.set(1, 4, 700);
    testbed.set(4, 1, 700);
    publishing = setInterval(() => void testbed.publish(), 1_000);
    const slowLinks = async (): Promise<number> => {
      const answer = await fetch(`${testbed.url}/api/v1/graph/cluster`);
      const { links } = (await answer.json()) as ClusterGraphSnapshot;
      return links.filter(({ rttMs }) => (rttMs.p50 ?? 0) > 600).length;
    };
    await vi.waitUntil(async () => (await slowLinks()) === 2, { ...PATIENCE, interval: 500 });
    visit = await PageVisit.open(`${testbed.url}/#/`);
    page = visit.page;
    await page
      .getByRole("link", { name: /slowest|node-/ })
      .first()
      .waitFor(PATIENCE);
  }, 60_000);

  afterAll(async () => {
    clearInterval(publishing);
    await visit?.close();
    await testbed?.stop();
    plugin?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function clicksUntil(steps: readonly Locator[], words: RegExp, sight: string): Promise<number> {
    await visit.goTo("/");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.evaluate(`(() => {
      globalThis.clicks = 0;
      globalThis.counter ??= addEventListener("click", () => globalThis.clicks++, true) ?? true;
    })()`);
    for (const step of steps) await step.click(PATIENCE);
    await expect.poll(() => page.locator(sight).first().innerText(), PATIENCE).toMatch(words);
    const clicks = await page.evaluate<number>("globalThis.clicks");
    expect(clicks).toBe(steps.length);
    expect(await visit.barriers()).toEqual([]);
    return clicks;
  }

  const menu = (name: string): Locator => page.getByRole("navigation", { name: "Pages" }).getByText(name);

  test.each<[task: string, steps: () => readonly Locator[], words: RegExp, sight: string]>([
    [
      "find the slowest pair",
      () => [menu("Network"), page.getByRole("link", { name: /slowest pair/ })],
      /node-000[25].*node-000[25]/s,
      "h1",
    ],
    [
      "why is this pod here",
      () => [
        menu("Workflows"),
        page.getByRole("link", { name: "Why is cart here?" }),
        page.getByRole("link", { name: POD }),
      ],
      /The network part decided/,
      ".why .lead",
    ],
    [
      "what would be saved, time",
      () => [page.locator(".tile", { hasText: "The best plan would save" }).getByRole("link")],
      /m.*per request/s,
      "#main",
    ],
    ["what would be saved, money", () => [menu("Bill")], /12\.00/, "#savings-lines"],
    [
      "which job is slow",
      () => [
        menu("Streams"),
        page.locator(".tile", { hasText: "Slowest job" }).getByRole("link", { name: SLOW_JOB }),
      ],
      new RegExp(SLOW_JOB),
      "h1",
    ],
  ])("%s: at most three clicks", async (_, steps, words, sight) => {
    expect(await clicksUntil(steps(), words, sight)).toBeLessThanOrEqual(MOST_CLICKS);
  });

  test("the page of decisions says what a dry run would move, and what the planner would bring", async () => {
    await visit.goTo("/decisions");
    await expect.poll(() => visit.column("#dry-run-moves", 1), PATIENCE).toEqual([`shop/${POD}`]);
    expect(await visit.column("#dry-run-moves", 4)).toEqual(["its channels cost a third there"]);
    const main = await page.locator("main").textContent();
    expect(main).toContain("descheduler.mode: evict");
    expect(main).toMatch(/The planner is off\. Switched on, it places .*planner\.enabled/);
    expect(main).not.toContain("The descheduler is off");
    expect(await visit.barriers()).toEqual([]);
  });

  test("put an application and a network of one's own in: one command, which the first page has", async () => {
    await visit.goTo("/");
    const command = await page.locator("#own code").first().innerText();
    const [npx, isochrone, up, ...rest] = command.split(" ");
    expect([npx, isochrone, up]).toEqual(["npx", "isochrone", "up"]);
    const options = rest.filter((part) => part.startsWith("--"));
    expect(options).toEqual(expect.arrayContaining(["--manifest", "--matrix"]));
    const { stdout } = await promisify(execFile)(process.execPath, [ISOCHRONE, "up", "--help"]);
    for (const option of options) expect(stdout).toContain(`${option} <`);
  });
});
