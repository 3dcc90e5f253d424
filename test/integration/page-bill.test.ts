import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../harness/browser.ts";
import { SAVINGS } from "../harness/page-decisions.ts";
import { startPageTestbed, type PageTestbed } from "../harness/page-testbed.ts";
import { PageVisit } from "../harness/page-visit.ts";

const PRICES = ["same-zone", "zone-to-zone"].map(
  (scope, index) =>
    `- {provider: own, scope: ${scope}, from: "*", out: ${index}, in: 0, per: GB, currency: EUR, source: ours, date: 2026-10}`,
);

describe.runIf(hasBrowser)("the page of the bill", { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "isochrone-prices-"));
  let testbed: PageTestbed;
  let visit: PageVisit;
  let publishing: NodeJS.Timeout;

  beforeAll(async () => {
    const prices = join(folder, "prices.yaml");
    writeFileSync(prices, `replace: true\nprices:\n${PRICES.join("\n")}\n`);
    // web is in one zone, api and db are in the other.
    const shop = [
      ["web", 0],
      ["api", 2],
      ["db", 3],
    ] as const;
    testbed = await startPageTestbed({ nodes: 4, zoneSize: 2, degree: 2, shop, prices });
    publishing = setInterval(() => void testbed.publish(), 1_000);
    visit = await PageVisit.open(testbed.url);
  }, 180_000);

  afterAll(async () => {
    clearInterval(publishing);
    await visit?.close();
    await testbed?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const main = (): Promise<string | null> => visit.page.locator("main").textContent();

  test("shows who pays whom, the dearest first, in both themes", async () => {
    await visit.goTo("/bill");
    await expect
      .poll(async () => (await visit.column("#channels", 3))[0] ?? "", { timeout: 30_000 })
      .toMatch(/^\d/);
    const pays = await visit.column("#channels", 1);
    const payees = await visit.column("#channels", 2);
    expect(pays.map((name, index) => `${name} ${payees[index]!}`)[0]).toMatch(/web \S*api$/);
    expect((await visit.column("#channels", 3))[1]).toBe("0");
    expect(await main()).toContain("EUR a month");
    await expect.poll(main).toContain("no scheduler-plugin is configured");
    for (const colorScheme of ["dark", "light"] as const) {
      await visit.page.emulateMedia({ colorScheme });
      expect(await visit.barriers()).toEqual([]);
    }
  });

  test("shows what would be saved, what saves nothing with its reason", async () => {
    const { page } = visit;
    await page.route("**/api/v1/savings**", (route) => route.fulfill({ json: SAVINGS }));
    await visit.goTo("/network");
    await visit.goTo("/bill");
    await expect
      .poll(async () => (await visit.column("#savings-lines", 3))[0] ?? "")
      .toMatch(/^12\.00.*-1\.2 ms/);
    expect((await visit.column("#savings-lines", 4))[0]).toMatch(/^-3\.00it would cost more/);
    expect(await visit.barriers()).toEqual([]);
    await page.unroute("**/api/v1/savings**");
    const unpriced = { ...SAVINGS, lines: SAVINGS.lines.map((line) => ({ ...line, perMonth: null })) };
    await page.route("**/api/v1/savings**", (route) => route.fulfill({ json: unpriced }));
    await page.reload();
    await expect.poll(() => page.locator("main").innerText()).toContain("Nothing has a price");
    await page.unroute("**/api/v1/savings**");
  });

  test("fits a telephone, and says that of a moment nothing is kept", async () => {
    const { page } = visit;
    await page.setViewportSize({ width: 400, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(await visit.barriers()).toEqual([]);
    await visit.goTo("/bill?at=2020-01-01T00:00:00Z");
    await expect.poll(main, { timeout: 15_000 }).toMatch(/No bill is stored|no graph is stored/);
  });
});
