// Reads the overview page repeatedly in a browser and checks it against the emulator and the load generator.
import { PageVisit } from "../page-visit.ts";
import type { DemoTruth } from "./demo-truth.ts";
import type { Finding, Verdict } from "./findings.ts";
import { plannedPlacement, type StatedPlan } from "./network-rules.ts";
import { concernIsKnown, happenedIsKnown, millisecondsOf, planTileIsTrue } from "./page-rules.ts";

const EVERY_MS = 8_000;
/** Delay until placements and graphs reflect a change. */
const SETTLED_MS = 45_000;
/** Number of newest load points, one per 1 or 2 s, that the page may show. A busy machine draws late. */
const NEWEST_POINTS = 40;

export class PageAudit {
  readonly checked: Record<string, number> = {};
  readonly #visit: PageVisit;
  readonly #truth: DemoTruth;
  readonly #findings: Finding[] = [];
  readonly #known = new Set<string>();
  readonly #sinceMs = Date.now();
  #isEnding = false;
  readonly #reading: Promise<void>;

  private constructor(visit: PageVisit, truth: DemoTruth) {
    this.#visit = visit;
    this.#truth = truth;
    this.#reading = this.#run();
  }

  static async open(page: string, truth: DemoTruth): Promise<PageAudit> {
    return new PageAudit(await PageVisit.open(`${page}/#/overview`), truth);
  }

  async stop(): Promise<readonly Finding[]> {
    if (this.#isEnding) return this.#findings;
    this.#isEnding = true;
    await this.#reading;
    await this.#visit.close();
    return this.#findings;
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      // Skip a page that rerenders during the read. The next read checks it.
      await this.#read().catch(() => undefined);
      for (let waitedMs = 0; waitedMs < EVERY_MS && !this.#isEnding; waitedMs += 500)
        await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  async #read(): Promise<void> {
    const { page } = this.#visit;
    for (const title of await page.locator("#concerns .concerns li > a").allTextContents())
      this.#check("concern", title, concernIsKnown(title) ? null : "unrecognised statement");
    for (const text of await page.locator(".happened li bdi").allTextContents())
      this.#check("happened", text, happenedIsKnown(text) ? null : "unrecognised statement");
    await this.#readLatency();
    await this.#readPlan();
  }

  /** On a busy machine, too few requests may be answered for a p95. The median is always shown. */
  async #readLatency(): Promise<void> {
    for (const [name, figure] of [
      ["median", "p50Ms"],
      ["p95", "p95Ms"],
    ] as const) {
      const shown = await this.#tile(`End to end, ${name}`);
      const shownMs = millisecondsOf(shown ?? "");
      const recordedMs = this.#truth.points.slice(-NEWEST_POINTS).flatMap((point) => point[figure] ?? []);
      if (Number.isNaN(shownMs) || recordedMs.length === 0) continue;
      const isRecorded = recordedMs.some((ms) => Math.abs(ms - shownMs) <= 0.06 * ms + 1);
      const recorded = recordedMs.map((ms) => ms.toFixed(0)).join(", ");
      this.#check("end to end", `${name} ${shown}`, isRecorded ? null : `the load recorded ${recorded} ms`);
    }
  }

  async #readPlan(): Promise<void> {
    const shown = await this.#tile("The best plan would save");
    if (shown === null) return;
    const { record, lives, network } = this.#truth;
    const nowMs = Date.now();
    const changedMs = Math.max(
      this.#sinceMs,
      network.changedBefore(nowMs) ?? 0,
      ...lives.all.map(({ readyMs, endedMs }) => Math.max(readyMs ?? 0, endedMs ?? 0)),
    );
    const { plans } = await record.page<{ readonly plans: readonly StatedPlan[] }>(
      "/api/v1/plans?kind=proposal&limit=50",
    );
    const [plan] = plans;
    if (plan === undefined || nowMs - changedMs < SETTLED_MS) return this.#count("best plan");
    const today = lives.placementAt(nowMs);
    const [beforeMs, afterMs] = [
      await record.networkMs(today),
      await record.networkMs(plannedPlacement(plan, today)),
    ];
    this.#check("best plan", shown, planTileIsTrue(shown, beforeMs - afterMs));
  }

  async #tile(label: string): Promise<string | null> {
    const tile = this.#visit.page.locator(".tile", { hasText: label }).locator("dd").first();
    if ((await tile.count()) === 0) return null;
    const [all, note] = [await tile.textContent(), await tile.locator("small").allTextContents()];
    return all?.slice(0, all.length - (note[0]?.length ?? 0)) ?? null;
  }

  #check(rule: string, statement: string, verdict: Verdict): void {
    this.#count(rule);
    if (verdict === null || this.#known.has(`${rule} ${statement}`)) return;
    this.#known.add(`${rule} ${statement}`);
    this.#findings.push({ atMs: Date.now(), channel: "page", rule, statement, evidence: verdict });
  }

  #count(rule: string): void {
    this.checked[`page ${rule}`] = (this.checked[`page ${rule}`] ?? 0) + 1;
  }
}
