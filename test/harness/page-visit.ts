// A visit to the page in a real browser, with checks of the shown values against the API.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { DecisionList } from "@isochrone/topology";
import type { Browser, Page } from "playwright-core";
import { expect } from "vitest";
import { launchBrowser } from "./browser.ts";
import type { EmbeddedSystem } from "./embedded.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

const DESK = { width: 1400, height: 1000 };
const PHONE = { width: 400, height: 800 };
/** Variants for accessibility checks: colours depend on the theme and layout on the width. */
const LOOKS = [
  ["light", DESK],
  ["dark", DESK],
  ["dark", PHONE],
] as const;

export class PageVisit {
  readonly page: Page;
  readonly faults: string[] = [];
  readonly #browser: Browser;
  readonly #url: string;
  readonly #scheme: "light" | "dark";

  private constructor(browser: Browser, page: Page, url: string, scheme: "light" | "dark") {
    this.#scheme = scheme;
    this.#browser = browser;
    this.page = page;
    this.#url = new URL(url).origin;
    page.on("pageerror", (error) => this.faults.push(error.message));
    page.on(
      "console",
      (message) =>
        message.type() === "error" && this.faults.push(`${message.text()} ${message.location().url}`),
    );
  }

  /** A URL without a path opens the network page. */
  static async open(url: string, options: { readonly isDark?: boolean } = {}): Promise<PageVisit> {
    const browser = await launchBrowser();
    const colorScheme = options.isDark === true ? "dark" : "light";
    const page = await browser.newPage({ viewport: DESK, colorScheme });
    const visit = new PageVisit(browser, page, url, colorScheme);
    await page.goto(new URL(url).hash === "" ? `${new URL(url).origin}/#/network` : url);
    return visit;
  }

  async goTo(path: string): Promise<void> {
    await this.page.goto(`${this.#url}/#${path}`);
  }

  async column(table: string, index: number): Promise<string[]> {
    return await this.page.locator(`${table} tbody td:nth-child(${index})`).allTextContents();
  }

  async barriers(): Promise<string[]> {
    const found = new Map<string, string>();
    const size = this.page.viewportSize() ?? DESK;
    for (const [colorScheme, viewport] of LOOKS) {
      await this.page.emulateMedia({ colorScheme });
      await this.page.setViewportSize(viewport);
      // Colours and sizes change with the next frames.
      await this.page.evaluate("new Promise((done) => setTimeout(done, 150))");
      for (const barrier of await this.#barriersNow())
        found.set(barrier, `${colorScheme}, ${viewport.width} px: ${barrier}`);
    }
    await this.page.emulateMedia({ colorScheme: this.#scheme });
    await this.page.setViewportSize(size);
    return [...found.values()];
  }

  async #barriersNow(): Promise<string[]> {
    await this.page.evaluate(AXE);
    const violations = await this.page.evaluate<readonly Violation[]>(
      'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
    );
    return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
  }

  async close(): Promise<void> {
    // A request still in flight would fail and count as an error.
    await this.page.unrouteAll({ behavior: "ignoreErrors" });
    await this.#browser.close();
  }
}

/** Waits for the pair as the slowest in either direction, in the legend's last colour. */
export async function expectSlowest(
  { page }: PageVisit,
  source: string,
  target: string,
  patienceMs: number,
): Promise<void> {
  const slowest = page.locator("#worst tbody tr").first();
  await expect
    .poll(() => slowest.textContent(), { timeout: patienceMs })
    .toMatch(new RegExp(`${source}.*${target}|${target}.*${source}`));
  await expect.poll(() => hasLastColour(page, source, target), { timeout: 5_000 }).toBe(true);
}

/** Reads a pixel of the pair's cell next to its text. */
async function hasLastColour(page: Page, source: string, target: string): Promise<boolean> {
  const order = await page.locator("#nodes tbody td:nth-child(1)").allTextContents();
  const [row, column] = [order.indexOf(source), order.indexOf(target)];
  const [shown, last] = await page.evaluate<string[]>(
    `(() => {
      const canvas = document.getElementById("matrix");
      const size = ${order.length};
      const ratio = canvas.width / canvas.clientWidth;
      const margin = Number(canvas.dataset.margin);
      const side = (canvas.clientHeight - margin) / size;
      const x = (margin + (${column} + 0.15) * side) * ratio;
      const y = (margin + (${row} + 0.85) * side) * ratio;
      const [red, green, blue] = canvas.getContext("2d").getImageData(x, y, 1, 1).data;
      const steps = document.querySelectorAll("#legend .scale i");
      return [\`rgb(\${red}, \${green}, \${blue})\`, getComputedStyle(steps[steps.length - 1]).backgroundColor];
    })()`,
  );
  return shown === last;
}

/** Checks every page against the API at the same time. */
export async function lookAtPages(visit: PageVisit, system: EmbeddedSystem): Promise<void> {
  const { page } = visit;
  const barriers: string[] = [];
  const check = async (name: string): Promise<void> => {
    for (const barrier of await visit.barriers()) barriers.push(`${name}: ${barrier}`);
  };
  await page.waitForSelector("#nodes tbody tr:nth-child(8)", { timeout: 15_000 });
  const graph = await system.cluster();
  expect((await visit.column("#nodes", 1)).sort()).toEqual(graph.nodes.map(({ name }) => name).sort());
  expect(await page.locator("#freshness").textContent()).toContain("8 nodes");
  await check("network");

  await visit.goTo("/overview");
  const p95 = page.locator(".tile", { hasText: "End to end, p95" });
  await expect.poll(() => p95.textContent(), { timeout: 20_000 }).toMatch(/\d (ms|s)/);
  // The load generator's own figure a few seconds earlier or later.
  const { p95Ms } = await system.get<{ p95Ms: number }>("lab", "/lab/v1/workflow");
  const { points } = await system.get<{ points: { p95Ms: number | null }[] }>("page", "/lab/v1/timeline");
  expect(points.some((point) => point.p95Ms !== null)).toBe(true);
  expect(p95Ms).toBeGreaterThan(0);
  await page.waitForSelector("#latency-title");
  await check("overview");

  const [first, second] = [graph.nodes[4]!.name, graph.nodes[5]!.name];
  await visit.goTo(`/pair/${first}/${second}`);
  const median = page.locator(".tile dd").first();
  await median.waitFor();
  const shown = Number.parseFloat((await median.textContent())!);
  const links = (await system.cluster()).links.filter(
    (link) => link.source === first && link.target === second && link.method === "udp_rr",
  );
  expect(Math.abs(shown - links[0]!.rttMs.p50!)).toBeLessThan(5);
  await page.waitForSelector(".u-over");
  expect(await page.locator(".histogram .column").count()).toBeGreaterThan(0);
  await check("pair");

  await visit.goTo("/network/map");
  await expect.poll(() => page.locator("#map circle.node").count()).toBe(8);
  await check("map");
  await visit.goTo(`/network/map/${first}`);
  await page.waitForSelector("#map .ring");
  expect(await page.locator("#map circle.node").count()).toBe(8);
  await expect.poll(() => page.locator("#map .pod").count()).toBe(17);
  await expect.poll(() => page.locator("#what-if").textContent()).toContain("Network time per request");
  await check("isochrones");

  await visit.goTo("/workflows/default/sample");
  await expect.poll(() => page.locator("#dag g.workload").count()).toBe(17);
  expect(await page.locator("#dag g.channel").count()).toBe((await system.workflow()).channels.length);
  expect(await page.locator("#placements tbody tr").count()).toBe(17);
  // Today's cost against the best plan, which is proposed repeatedly.
  const best = page.locator(".tile", { hasText: "Best plan" });
  await expect.poll(() => best.textContent(), { timeout: 20_000 }).toMatch(/ per request \(± |as today/);
  await page.locator("#moves-title").waitFor();
  await check("workflows");

  await visit.goTo("/decisions");
  await page.waitForSelector("#decisions tbody tr");
  const { decisions }: DecisionList = await system.decisions();
  const { name, namespace } = decisions.at(-1)!.pod;
  expect((await visit.column("#decisions", 3)).join("\n")).toContain(name);
  await check("decisions");
  // Filters are part of the URL.
  await page.fill("#act-workload", name);
  await page.selectOption("#act-namespace", namespace);
  await expect
    .poll(async () => (await visit.column("#decisions", 3)).every((text) => text.includes(name)))
    .toBe(true);
  expect(page.url()).toContain(`namespace=${namespace}&workload=${name}`);
  await page.fill("#act-workload", "no such workload");
  await page.waitForSelector(".card .empty");
  await check("decisions without a match");
  const { id, candidates, explanation, binding } = decisions.at(-1)!;
  await visit.goTo(`/decisions/${id}`);
  await page.waitForSelector("#candidates tbody tr");
  // The current response may contain more nodes than a plan.
  expect(await page.locator("#candidates tbody tr").count()).toBeGreaterThanOrEqual(candidates.length);
  // The node of the pod, whichever scored highest.
  expect(binding).toBeDefined();
  if (typeof binding?.node === "string")
    expect(await page.locator("h1").textContent()).toContain(binding.node);
  expect(await page.locator(".why .lead").textContent()).toBe(explanation[0]);
  await check("decision");

  await visit.goTo("/health");
  await page.waitForSelector("#instruments tbody tr:nth-child(8)");
  await check("health");
  expect(barriers).toEqual([]);
}
