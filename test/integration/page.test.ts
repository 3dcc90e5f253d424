// The page on a real aggregator with hostile names, without data, and without its server.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../harness/browser.ts";
import { startPageTestbed, type PageTestbed } from "../harness/page-testbed.ts";
import { PageVisit } from "../harness/page-visit.ts";

/** No store accepts these, so they replace names in real responses on the way to the page. */
const EVIL = [
  "<img src=x onerror=globalThis.hit=1>",
  '"><script>globalThis.hit=1</script>',
  "abc\u202Eexe.txt",
  'it\'s & "quoted" {{7*7}} ${7*7}',
  "__proto__",
  "plain",
];

describe.runIf(hasBrowser)("the page", () => {
  let testbed: PageTestbed;
  let visit: PageVisit;
  let page: Page;

  beforeAll(async () => {
    testbed = await startPageTestbed({ nodes: EVIL.length, zoneSize: 2, degree: EVIL.length - 1 });
    visit = await PageVisit.open(testbed.url, { isDark: true });
    page = visit.page;
    await page.route("**/api/v1/graph/cluster**", async (route) => {
      const asked = testbed.names.reduce(
        (url, name, index) => url.replaceAll(encodeURIComponent(EVIL[index]!), name),
        route.request().url(),
      );
      const response = await route.fetch({ url: asked });
      const body = testbed.names.reduce(
        (text, name, index) => text.replaceAll(JSON.stringify(name), () => JSON.stringify(EVIL[index])),
        await response.text(),
      );
      await route.fulfill({ response, body });
    });
    await page.reload();
    await page.waitForSelector(`#nodes tbody tr:nth-child(${EVIL.length})`, { timeout: 20_000 });
  }, 60_000);

  afterAll(async () => {
    await visit?.close();
    await testbed?.stop();
  });

  const isUnharmed = async (): Promise<void> => {
    expect(await page.evaluate("globalThis.hit")).toBeUndefined();
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(visit.faults).toEqual([]);
  };

  test("shows names as they are, whatever they hold, and runs none of them", async () => {
    expect((await visit.column("#nodes", 1)).sort()).toEqual([...EVIL].sort());
    // Each name has its own text direction.
    expect(await page.locator("#nodes bdi").count()).toBeGreaterThanOrEqual(EVIL.length);
    await page.locator("#matrix").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowRight");
    expect(await page.locator("#readout").textContent()).toContain("→");
    await isUnharmed();
    expect(await visit.barriers()).toEqual([]);
  });

  test("opens a pair by keys and by its address, and nonsense in the address does no harm", async () => {
    await page.keyboard.press("Enter");
    await page.waitForSelector("h1:has-text('→')");
    await visit.goTo(`/pair/${encodeURIComponent(EVIL[0]!)}/${encodeURIComponent(EVIL[1]!)}`);
    await expect.poll(() => page.locator("h1").textContent()).toContain(EVIL[1]!);
    await page.waitForSelector(".tile");
    for (const address of [
      "/pair/<b>/%22%3E",
      "/workflows/%3Cscript%3E/x",
      "/decisions/..%2F..%2F",
      "/nowhere?at=never&show=<b>",
      "/%E0%A4%A",
    ]) {
      await visit.goTo(address);
      await page.waitForSelector("h1");
    }
    // The browser logs rejected requests. The page itself has no error.
    visit.faults.splice(
      0,
      visit.faults.length,
      ...visit.faults.filter((fault) => !fault.startsWith("Failed to load resource")),
    );
    await isUnharmed();
  });

  test("shows the past, says so, and comes back to now", async () => {
    const { times } = (await (await fetch(`${testbed.url}/api/v1/graph/history`)).json()) as {
      readonly times: readonly string[];
    };
    await visit.goTo(`/network?at=${encodeURIComponent(times[0]!)}`);
    await expect.poll(() => page.locator("#freshness").textContent()).toContain("the past");
    await page.getByRole("button", { name: "Back to now" }).click();
    await expect.poll(() => page.locator("#freshness").textContent()).toContain("live");
  });

  test("says that the server is gone, keeps what it knew, and fits a telephone", async () => {
    await page.setViewportSize({ width: 400, height: 800 });
    await visit.goTo("/network");
    await page.waitForSelector("#nodes tbody tr");
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await testbed.aggregator.stop();
    await expect
      .poll(() => page.locator("#freshness").textContent(), { timeout: 20_000 })
      .toContain("can't be reached");
    expect(await page.locator("#nodes tbody tr").count()).toBe(EVIL.length);
    expect(await page.locator("#change").textContent()).toContain("can't be reached");
  });
});

describe.runIf(hasBrowser)("the page of an empty cluster", () => {
  test("says on every page what is missing, and what makes it appear", async () => {
    const testbed = await startPageTestbed({ nodes: 0, zoneSize: 1, degree: 0 });
    const visit = await PageVisit.open(testbed.url);
    try {
      for (const [address, ...words] of [
        ["/overview", "No workflow with traffic is known", "collector.podTargets"],
        ["/network", "No node is known yet"],
        ["/network/map", "No coordinates yet"],
        ["/workflows", "No workflow is known", "collector.podTargets"],
        ["/traffic", "No requests are counted", "collector.podTargets"],
        ["/bill", "No traffic is counted", "collector.podTargets"],
        ["/streams", "Nobody runs stream jobs here", "streams.enabled"],
        ["/decisions", "No scheduler-plugin is connected", "aggregator.decisionsUrl"],
        ["/health", "No node is known yet"],
      ] as const) {
        await visit.goTo(address);
        const main = () => visit.page.locator("main").textContent();
        for (const word of words) await expect.poll(main, { timeout: 15_000 }).toContain(word);
        expect(await visit.barriers()).toEqual([]);
      }
    } finally {
      await visit.close();
      await testbed.stop();
    }
  }, 180_000);
});
