import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../harness/browser.ts";
import { startPageTestbed, type PageTestbed } from "../harness/page-testbed.ts";
import { PageVisit } from "../harness/page-visit.ts";
import { serveTraffic, TRAFFIC } from "../harness/page-traffic.ts";

const HOSTILE = '<img src=x onerror="alert(1)">';

describe.runIf(hasBrowser)("the page of traffic", { timeout: 120_000 }, () => {
  let plugin: Awaited<ReturnType<typeof serveTraffic>>;
  let testbed: PageTestbed;
  let visit: PageVisit;
  let answer: { readonly status: number; readonly body: object } = {
    status: 200,
    body: { services: [...TRAFFIC, { ...TRAFFIC[0], name: HOSTILE, state: "refused", message: HOSTILE }] },
  };

  beforeAll(async () => {
    plugin = await serveTraffic(() => answer);
    testbed = await startPageTestbed({
      nodes: 4,
      zoneSize: 2,
      degree: 2,
      settings: { decisionsUrl: plugin.url },
    });
    visit = await PageVisit.open(testbed.url);
  }, 180_000);

  afterAll(async () => {
    await visit?.close();
    await testbed?.stop();
    plugin?.close();
  });

  test("shows Services with spill and headroom, those with trouble first", async () => {
    await visit.goTo("/traffic");
    await visit.page.waitForSelector("#traffic tbody tr");
    expect(await visit.column("#traffic", 1)).toEqual([`shop/${HOSTILE}`, "shop/cart", "shop/db"]);
    expect(await visit.column("#traffic", 2)).toEqual(["hints refused", "hints moving", "advise steady"]);
    expect((await visit.column("#traffic", 5)).slice(1)).toEqual(["6.7 %", "66.7 %"]);
    expect((await visit.column("#traffic", 8)).slice(1)).toEqual(["west: full, others have room", ""]);
    expect(await visit.barriers()).toEqual([]);
  });

  test("opens a Service with zones by zones, and fits a telephone", async () => {
    const { page } = visit;
    await page.setViewportSize({ width: 400, height: 800 });
    await page.getByRole("link", { name: "shop/cart" }).click();
    await page.waitForSelector("#zones tbody tr");
    const rows = await page.locator("#zones tr").allTextContents();
    expect(rows[0]).toBe("Calling zone→ east→ north→ westRequests/sIn timeMedian");
    expect(rows.find((row) => row.startsWith("west"))).toBe("west10 % → 31.2 %–90 % → 68.8 %20055 %38 ms");
    expect(rows.find((row) => row.startsWith("Load now"))).toContain("144 %");
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(await visit.barriers()).toEqual([]);
    await visit.goTo("/traffic/shop/nowhere");
    await expect
      .poll(() => page.locator("main").textContent())
      .toContain("Nothing is known of such a Service");
  });

  test("says that nobody calls, and that of a moment nothing is kept", async () => {
    const { page } = visit;
    const main = (): Promise<string | null> => page.locator("main").textContent();
    answer = { status: 503, body: { code: "dispatch_off" } };
    await visit.goTo("/traffic");
    await page.reload();
    await expect.poll(main, { timeout: 15_000 }).toContain("No requests are counted");
    await visit.goTo("/traffic?at=2020-01-01T00:00:00Z");
    await expect.poll(main, { timeout: 15_000 }).toMatch(/No traffic is stored|no graph is stored/);
  });
});
