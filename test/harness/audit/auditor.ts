// Checks all statements of a running demo against its objects, network emulator and load generator.
import { readStatement, type Statement } from "@isochrone/cli/testing";
import type { ClusterGraphSnapshot, DecisionList, WorkflowGraphSnapshot } from "@isochrone/topology";
import {
  countedMovesAreTrue,
  flightIsTrue,
  markIsTrue,
  outcomeIsTrue,
  type StatedFlight,
} from "./api-rules.ts";
import type { DemoRun, SaidLine } from "./demo-run.ts";
import type { DemoTruth } from "./demo-truth.ts";
import type { Finding, Verdict } from "./findings.ts";
import {
  figureIsTrue,
  moveMeasuredIsTrue,
  networkSavingIsTrue,
  networkTimeIsTrue,
  verdictIsSame,
} from "./load-rules.ts";
import {
  countIsTrue,
  failedIsTrue,
  movedIsTrue,
  movingIsTrue,
  stillMovingIsTrue,
  unanswered,
  untold,
  waysOf,
  type Announced,
} from "./move-rules.ts";
import {
  bestPlanIsTrue,
  costIsTrue,
  deadIsTrue,
  lossIsTrue,
  savedIsTrue,
  type StatedPlan,
} from "./network-rules.ts";

const API_EVERY_MS = 4_000;
/** A proposal that disappears sooner than this without any change was wrong. */
const WITHDRAWN_WITHIN_MS = 300_000;
/** Delay until placements and graphs reflect a change of the network or of pods. */
const SETTLED_MS = 45_000;
/** Measurement time of an act before its figures are printed. */
const ACT_MS = 90_000;
/** Share of costs that may lie outside two standard errors. */
const OUTSIDE_SHARE = 0.05;

type Stated<K extends Statement["kind"]> = Extract<Statement, { readonly kind: K }>;
type Check = (rule: string, verdict: Verdict) => void;

interface StatedProposal extends StatedPlan {
  readonly at: string;
  readonly workflow: string;
}

interface Proposed {
  readonly key: string;
  readonly sinceMs: number;
}

export class Auditor {
  readonly findings: Finding[] = [];
  readonly checked: Record<string, number> = {};
  readonly #demo: DemoRun;
  readonly #truth: DemoTruth;
  readonly #onFinding: (finding: Finding) => void;
  readonly #known = new Set<string>();
  #read = 0;
  #announced: Announced[] = [];
  readonly #flights = new Set<string>();
  #told: { workload: string; from: string; to: string | null; atMs: number }[] = [];
  readonly #placed = new Map<string, Stated<"placed">>();
  /** Emulated network time at the end of each act's measurement, in act order. */
  readonly #actMs = new Map<string, number>();
  #slowLink: Stated<"slowLink"> | null = null;
  #proposed: Proposed | null = null;
  #costs = 0;
  readonly #costsOutside: Finding[] = [];
  readonly #ending = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(demo: DemoRun, truth: DemoTruth, onFinding: (finding: Finding) => void = () => undefined) {
    this.#demo = demo;
    this.#truth = truth;
    this.#onFinding = onFinding;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Reads the last statements and reports missing ones. */
  async stop(): Promise<readonly Finding[]> {
    this.#ending.abort();
    await this.#running;
    await this.#truth.poll().catch(() => undefined);
    this.#readLines(Infinity);
    await this.#readApi().catch(() => undefined);
    const nowMs = Date.now();
    for (const { workload, from, to, atMs } of unanswered(this.#announced, nowMs))
      this.#add(
        atMs,
        "terminal",
        "announced moves end in a word",
        `moving ${workload} ${from} -> ${to}`,
        "nothing was said of its outcome",
      );
    for (const replaced of this.#truth.lives.replacements()) {
      if (replaced.old.endedMs! < this.#liveSinceMs()) continue;
      this.#check(
        replaced.old.endedMs!,
        "terminal",
        "moves are told",
        "(nothing)",
        untold(replaced, this.#told, nowMs),
      );
    }
    this.#judgeCosts();
    return this.findings;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    let nextApiMs = 0;
    while (!signal.aborted) {
      // Judge a statement only after the polls that follow it.
      this.#readLines(Date.now() - 2_000);
      if (Date.now() >= nextApiMs) {
        nextApiMs = Date.now() + API_EVERY_MS;
        await this.#readApi().catch(() => this.#count("api not answered"));
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }

  #readLines(untilMs: number): void {
    const { lines } = this.#demo;
    for (; this.#read < lines.length && lines[this.#read]!.atMs <= untilMs; this.#read++)
      this.#readLine(lines[this.#read]!);
  }

  #readLine({ text, atMs }: SaidLine): void {
    const statement = readStatement(text);
    if (statement === null) return this.#add(atMs, "terminal", "known form", text, "unrecognised statement");
    this.#count(statement.kind);
    const check: Check = (rule, verdict) => this.#check(atMs, "terminal", rule, text, verdict);
    if (statement.kind === "moveFailed") return this.#readFailures(statement, atMs, check);
    if ("ways" in statement) return this.#readWays(statement, atMs, check);
    if ("networkMs" in statement || statement.kind === "moveMeasured")
      return this.#readFigures(statement, atMs, check);
    this.#readAdvice(statement, atMs, check);
  }

  #readWays(
    { kind, count, ways }: Extract<Statement, { readonly ways: unknown }>,
    atMs: number,
    check: Check,
  ): void {
    const { lives } = this.#truth;
    check("count", countIsTrue(count, ways));
    for (const way of waysOf(ways)) {
      if (kind === "moving") {
        check("moving", movingIsTrue(way, atMs, lives));
        if (way.to !== null) this.#announced.push({ ...way, to: way.to, atMs });
        continue;
      }
      const announced = this.#close(way.workload);
      if (kind === "moved") check("moved", movedIsTrue(way, atMs, lives, announced));
      else check("still moving", stillMovingIsTrue(way, atMs, lives));
      this.#told.push({ ...way, atMs });
    }
  }

  #readFailures({ count, failures }: Stated<"moveFailed">, atMs: number, check: Check): void {
    check("count", count === failures.length ? null : `${failures.length} pods are named`);
    for (const failure of failures) {
      check("failed", failedIsTrue(failure, atMs, this.#truth.lives));
      this.#told.push({ ...failure, atMs });
      this.#close(failure.workload);
    }
  }

  #readFigures(statement: Stated<"moveMeasured" | "placed" | "verdict">, atMs: number, check: Check): void {
    const { points } = this.#truth;
    if (statement.kind === "moveMeasured")
      return check("gain of a move", moveMeasuredIsTrue(statement, points, atMs));
    if (statement.kind === "verdict") {
      check("network saving", networkSavingIsTrue(statement, this.#actMs));
      return check("verdict", verdictIsSame(statement, this.#placed.get(statement.act) ?? null));
    }
    this.#placed.set(statement.act, statement);
    const trueNow = this.#truth.requestTimes.findLast((each) => each.atMs <= atMs);
    if (trueNow !== undefined) this.#actMs.set(statement.act, trueNow.networkMs);
    for (const figure of ["p50Ms", "p95Ms"] as const)
      check(figure, figureIsTrue(figure, statement[figure], points, atMs));
    const trueMs = this.#trueMs(atMs);
    check("network time", networkTimeIsTrue(statement.networkMs, trueMs, statement.isClaimed));
  }

  #readAdvice(statement: Statement, atMs: number, check: Check): void {
    if (statement.kind === "slowLink") this.#slowLink = statement;
    if (statement.kind === "linkNow" && this.#slowLink !== null && statement.rttMs !== null) {
      const { source, target } = this.#slowLink;
      const costMs = statement.rttMs;
      const rttMs = { p50: costMs, p90: null, p99: null, mean: null, count: 1 };
      const link = {
        source,
        target,
        costMs,
        rttMs,
        errorMs: null,
        origin: "measured",
        lossRatio: null,
      } as const;
      check("round trip now", costIsTrue(link, atMs, this.#truth.network));
    }
    if (statement.kind === "killNode") {
      const { node } = statement;
      const hasPods = this.#truth.lives.all.some((life) => life.node === node && life.endedMs === null);
      check("node to kill", hasPods ? null : `${node} has no pod`);
    }
  }

  async #readApi(): Promise<void> {
    const { record, lives, network } = this.#truth;
    const atMs = Date.now();
    const graph = await record.page<ClusterGraphSnapshot>("/api/v1/graph/cluster");
    for (const link of graph.links) {
      const text = `${link.source} -> ${link.target} costs ${link.costMs?.toFixed(1)} ms, loses ${link.lossRatio}`;
      this.#countCost(atMs, text, costIsTrue(link, atMs, network));
      this.#check(atMs, "api", "dead", text, deadIsTrue(link, atMs, network));
      this.#check(atMs, "api", "lost", text, lossIsTrue(link, atMs, network));
    }
    const { decisions } = await record.page<DecisionList>("/api/v1/decisions?kind=eviction&limit=1000");
    for (const decision of decisions) {
      const text = `eviction ${decision.id} of ${decision.pod.name} to ${decision.best}: ${decision.outcome?.result ?? "open"}`;
      this.#check(Date.parse(decision.at), "api", "outcome", text, outcomeIsTrue(decision, lives));
    }
    const report = await this.#truth.deschedulerReport<{ readonly inFlight: readonly StatedFlight[] }>();
    for (const flight of report.inFlight) {
      this.#announce(flight, atMs);
      this.#check(
        atMs,
        "api",
        "in flight",
        `${flight.name} ${flight.from} -> ${flight.to}`,
        flightIsTrue(flight, lives),
      );
    }
    for (const mark of this.#truth.marks)
      if (mark.kind === "move" && Date.parse(mark.at) < atMs - 10_000) {
        const move = mark as unknown as Parameters<typeof markIsTrue>[0];
        const text = `mark: ${move.workload} ${move.from} -> ${move.to}`;
        // Nothing is known before the first poll.
        if (Date.parse(mark.at) > this.#liveSinceMs())
          this.#check(Date.parse(mark.at), "page", "mark", text, markIsTrue(move, lives));
      }
    await this.#readPlans(graph);
    await this.#readMetrics();
  }

  async #readPlans(graph: ClusterGraphSnapshot): Promise<void> {
    const { record, lives, network } = this.#truth;
    const atMs = Date.now();
    const [workflow, { plans }] = await Promise.all([
      record.page<WorkflowGraphSnapshot>("/api/v1/graph/workflows/default/sample"),
      record.page<{ readonly plans: readonly StatedProposal[] }>("/api/v1/plans?kind=proposal&limit=50"),
    ]);
    const [proposal] = plans;
    if (proposal === undefined) return;
    this.#count("proposal");
    const quietSinceMs = Math.max(
      network.changedBefore(atMs) ?? 0,
      lastChangeOf(this.#truth),
      this.#liveSinceMs(),
    );
    const today = lives.placementAt(Date.parse(proposal.at));
    const text = planText(proposal);
    const isSettled = atMs - quietSinceMs > SETTLED_MS && graph.links.length > 0;
    const plan = [proposal, today, workflow.channels, atMs, network] as const;
    if (isSettled) {
      this.#check(atMs, "api", "best plan", text, bestPlanIsTrue(...plan) ?? savedIsTrue(...plan));
    }
    this.#followProposal(proposal, text, atMs, quietSinceMs);
  }

  #followProposal(proposal: StatedProposal, text: string, atMs: number, quietSinceMs: number): void {
    const key = proposal.pods.map(({ workload, node }) => `${workload} -> ${node}`).join(", ");
    const previous = this.#proposed;
    if (previous?.key === key) return;
    this.#proposed = { key, sinceMs: atMs };
    if (previous === null || previous.key === "" || quietSinceMs + SETTLED_MS > previous.sinceMs) return;
    if (atMs - previous.sinceMs < WITHDRAWN_WITHIN_MS)
      this.#add(
        previous.sinceMs,
        "api",
        "proposals stay",
        previous.key,
        `withdrawn after ${((atMs - previous.sinceMs) / 1_000).toFixed(0)} s for: ${text}`,
      );
  }

  async #readMetrics(): Promise<void> {
    const page = await this.#truth.schedulerMetrics();
    const value = /^isochrone_descheduler_moves_total\{outcome="on_target"\} (\d+)$/m.exec(page)?.[1];
    if (value === undefined) return;
    const text = `descheduler_moves_total{outcome="on_target"} ${value}`;
    this.#check(
      Date.now(),
      "metrics",
      "counted moves",
      text,
      countedMovesAreTrue(Number(value), this.#truth.lives),
    );
  }

  #announce({ name, from, to }: StatedFlight, atMs: number): void {
    const life = this.#truth.lives.all.find((each) => each.name === name);
    if (life === undefined || this.#flights.has(name)) return;
    this.#flights.add(name);
    this.#announced.push({ workload: life.workload, from, to, atMs });
  }

  #close(workload: string): Announced | null {
    const found = this.#announced.findLast((each) => each.workload === workload) ?? null;
    this.#announced = this.#announced.filter((each) => each.workload !== workload);
    return found;
  }

  #trueMs(atMs: number): { readonly low: number; readonly high: number } {
    const ms = this.#truth.requestTimes
      .filter((each) => each.atMs <= atMs && each.atMs >= atMs - ACT_MS)
      .map(({ networkMs }) => networkMs);
    return ms.length === 0 ? { low: 0, high: Infinity } : { low: Math.min(...ms), high: Math.max(...ms) };
  }

  /** Time at which pods began to move on their own. Earlier acts replace all pods and say so. */
  #liveSinceMs(): number {
    return this.#demo.lines.find(({ text }) => text.startsWith("Try in another terminal"))?.atMs ?? Infinity;
  }

  #countCost(atMs: number, text: string, verdict: Verdict): void {
    this.#costs++;
    if (verdict !== null)
      this.#costsOutside.push({ atMs, channel: "api", rule: "cost", statement: text, evidence: verdict });
  }

  /** Two standard errors leave one cost of twenty outside. */
  #judgeCosts(): void {
    if (this.#costsOutside.length <= OUTSIDE_SHARE * this.#costs) return;
    const worst = this.#costsOutside.at(-1)!;
    const share = ((100 * this.#costsOutside.length) / this.#costs).toFixed(0);
    this.#add(
      worst.atMs,
      "api",
      "cost",
      worst.statement,
      `${worst.evidence}; ${share} % of ${this.#costs} stated costs are outside of their error`,
    );
  }

  #check(atMs: number, channel: Finding["channel"], rule: string, statement: string, verdict: Verdict): void {
    this.#count(`${channel} ${rule}`);
    if (verdict !== null) this.#add(atMs, channel, rule, statement, verdict);
  }

  #add(atMs: number, channel: Finding["channel"], rule: string, statement: string, evidence: string): void {
    // Rereading a page repeats its statements.
    const key = `${channel} ${rule} ${channel === "terminal" ? atMs : ""} ${statement}`;
    if (this.#known.has(key)) return;
    this.#known.add(key);
    const finding = { atMs, channel, rule, statement, evidence };
    this.findings.push(finding);
    this.#onFinding(finding);
  }

  #count(what: string): void {
    this.checked[what] = (this.checked[what] ?? 0) + 1;
  }
}

function planText({ savedRatio, pods }: StatedProposal): string {
  const ways = pods.map(({ workload, from, node }) => `${workload} ${from} -> ${node}`).join("; ");
  const saved = savedRatio === null || savedRatio === undefined ? "?" : (100 * savedRatio).toFixed(1);
  return `saves ${saved} %: ${ways || "all pods stay"}`;
}

function lastChangeOf({ lives }: DemoTruth): number {
  return Math.max(0, ...lives.all.map(({ readyMs, endedMs }) => Math.max(readyMs ?? 0, endedMs ?? 0)));
}
