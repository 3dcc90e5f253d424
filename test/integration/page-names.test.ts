// Every page with hostile names, and the Workflows page with ten thousand names, in a real browser.
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasBrowser } from "../harness/browser.ts";
import { answerHostilely, EVIL } from "../harness/hostile-answers.ts";
import { startPageTestbed, workflowOf, type PageTestbed } from "../harness/page-testbed.ts";
import { PageVisit } from "../harness/page-visit.ts";

describe.runIf(hasBrowser)("names of workflows, pods, decisions and replicas", () => {
  let testbed: PageTestbed;
  let visit: PageVisit;
  let page: Page;

  beforeAll(async () => {
    testbed = await startPageTestbed({ nodes: 4, zoneSize: 2, degree: 3 });
    visit = await PageVisit.open(testbed.url);
    page = visit.page;
    await answerHostilely(page, testbed.names);
    await page.reload();
    await page.waitForSelector("#nodes tbody tr:nth-child(4)", { timeout: 20_000 });
  }, 60_000);

  afterAll(async () => {
    await visit?.close();
    await testbed?.stop();
  });

  /** Checks that no name became markup, that the layout fits, and that the page is accessible. */
  const isWell = async (): Promise<void> => {
    expect(await page.evaluate("globalThis.hit")).toBeUndefined();
    expect(await page.locator("main img, main script, main b, main iframe").count()).toBe(0);
    expect(await page.locator('main a[href^="javascript:"]').count()).toBe(0);
    expect(visit.faults).toEqual([]);
    expect(await visit.barriers()).toEqual([]);
    await page.setViewportSize({ width: 400, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    await page.setViewportSize({ width: 1400, height: 1000 });
  };

  test("workflows: chooser, drawing, channels, workloads and the best plan", async () => {
    const [namespace, name] = [EVIL[0]!, EVIL[1]!];
    await visit.goTo(`/workflows/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);
    await expect.poll(() => page.locator("#dag g.workload").count()).toBe(EVIL.length);
    const options = await page.locator("#workflow-choice option").allTextContents();
    for (const evil of EVIL) expect(options.some((option) => option.endsWith(`/${evil}`))).toBe(true);
    expect(await visit.column("#placements", 1)).toEqual([...EVIL]);
    expect(new Set(await visit.column("#channels", 2))).toEqual(new Set(EVIL.slice(1)));
    await page.waitForSelector("#moves tbody tr");
    expect(await visit.column("#moves", 1)).toEqual(EVIL.map((_, index) => String(index + 1)));
    expect(await visit.column("#moves", 2)).toEqual([...EVIL]);
    expect(await visit.column("#moves", 6)).toEqual(EVIL.map(() => "40 B ± 2 B"));
    expect(await visit.column("#moves", 7)).toEqual([EVIL[2], ...EVIL.slice(1).map(() => "nothing")]);
    expect(await page.locator(".tile", { hasText: "Best plan" }).textContent()).toContain(
      "9 ms → 5 ms per request (± 0.5 ms), 9 of 10 pods elsewhere; 1 move can't be made now",
    );
    // Today's placement and the plan's, which moves all pods but the blocked one.
    await page.getByRole("button", { name: "Best plan" }).click();
    await expect.poll(() => page.locator("#dag g.workload.moved").count()).toBe(EVIL.length - 1);
    expect(await page.locator("#dag g.ms").count()).toBe(EVIL.length - 1);
    await isWell();
    await page.getByRole("button", { name: "Today" }).click();
    await expect.poll(() => page.locator("#dag g.workload.moved").count()).toBe(0);
    expect(await page.locator('#channels a[href^="#/pair/"]').count()).toBeGreaterThan(0);
    // Each name has its own text direction.
    expect(await page.locator("#placements bdi").count()).toBeGreaterThanOrEqual(EVIL.length);
    await isWell();
  }, 60_000);

  test("a workflow is chosen by its bad name, and has an address that leads back to it", async () => {
    await page.locator("#workflow-choice").selectOption(`${EVIL[9]}/${EVIL[0]}`);
    await expect.poll(() => page.evaluate("location.hash")).toContain(encodeURIComponent(EVIL[0]!));
    const address = await page.evaluate<string>("location.href");
    await page.goto("about:blank");
    await page.goto(address);
    await expect.poll(() => page.locator("#workflow-choice").inputValue()).toBe(`${EVIL[9]}/${EVIL[0]}`);
  });

  test("decisions, one of them, and a plan", async () => {
    await visit.goTo("/decisions");
    await page.waitForSelector("#decisions tbody tr:nth-child(10)");
    expect(await visit.column("#decisions", 3)).toEqual(expect.arrayContaining([...EVIL]));
    await isWell();
    for (const index of [0, 1, 2]) {
      await visit.goTo(`/decisions/evil-${index}`);
      await page.waitForSelector("#candidates tbody tr");
      expect(await page.locator(".why .lead").textContent()).toBe(`Because of ${EVIL[index]}.`);
      // Never shows the best node instead of the pod's own node.
      const [best, , , home] = testbed.names;
      const title = await page.locator("h1").textContent();
      expect(title).toContain(index === 2 ? best : home);
      expect(await page.locator("#candidates tr", { hasText: "runs here" }).textContent()).toContain(home);
      expect(await page.locator("#candidates tr", { hasText: "best then" }).textContent()).toContain(best);
      await page.locator("#since-title").waitFor();
      expect(await page.locator("#peers tbody tr").textContent()).toContain("was ");
      // Stays open from one decision to the next.
      if (index === 0) await page.locator(".fold summary").click();
      await page.waitForSelector("#parts tbody tr");
    }
    await isWell();
    await visit.goTo("/plans/evil-plan");
    await expect.poll(() => page.locator("h1").textContent()).toContain(EVIL[1]!);
    await isWell();
  }, 90_000);

  test("health: replicas, topics, clocks and reasons", async () => {
    await visit.goTo("/health");
    await page.waitForSelector("#replicas tbody tr:nth-child(2)");
    const replicas = await page.locator("#replicas").textContent();
    for (const evil of [EVIL[0]!, EVIL[5]!, `can't be asked: ${EVIL[1]}`]) expect(replicas).toContain(evil);
    await isWell();
  }, 60_000);
});

describe.runIf(hasBrowser)("ten thousand workflows", () => {
  const MANY = 10_000;

  test("are listed as far as anybody reads, found by a few letters, and cost no long wait", async () => {
    const testbed = await startPageTestbed({ nodes: 4, zoneSize: 2, degree: 3, workflows: MANY });
    const visit = await PageVisit.open(`${testbed.url}/#/workflows`);
    const { page } = visit;
    try {
      const find = page.getByRole("searchbox", { name: "Find" });
      await find.waitFor({ timeout: 30_000 });
      await expect.poll(() => find.getAttribute("placeholder")).toBe("among 10 k");
      const options = page.locator("#workflow-choice option");
      expect(await options.count()).toBeLessThanOrEqual(201);
      expect(await page.locator("main").textContent()).toContain("10 k match; the first 200 are listed");

      await page.evaluate(
        "globalThis.longest = 0; new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) longest = Math.max(longest, duration); }).observe({ type: 'longtask' })",
      );
      await find.pressSequentially("many 07421");
      await expect.poll(() => options.allTextContents()).toContain(`many/${workflowOf(7_420)}`);
      // Includes the one that is shown.
      expect(await options.count()).toBeLessThanOrEqual(2);
      await page.locator("#workflow-choice").selectOption(`many/${workflowOf(7_420)}`);
      await expect.poll(() => page.locator("#placements").textContent()).toContain(workflowOf(7_420));
      // Generous, because other programs count as well.
      expect(await page.evaluate<number>("longest")).toBeLessThan(1_000);
      expect(await visit.barriers()).toEqual([]);
      // The browser logs failed requests to the absent scheduler-plugin.
      expect(visit.faults.filter((fault) => !fault.includes("/api/v1/plans"))).toEqual([]);
    } finally {
      await visit.close();
      await testbed.stop();
    }
  }, 120_000);
});
