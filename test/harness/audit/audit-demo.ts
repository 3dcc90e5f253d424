// Audits one run of the demo: up to its verdict, then through random faults and their repair.
import { readStatement } from "@isochrone/cli/testing";
import { seededRandom } from "@isochrone/runtime";
import { Auditor } from "./auditor.ts";
import { DemoRun } from "./demo-run.ts";
import { DemoTruth } from "./demo-truth.ts";
import { drawFaults, FaultMaker, type MadeFault } from "./faults.ts";
import { findingLine, type Finding } from "./findings.ts";
import { PageAudit } from "./page-audit.ts";

interface AuditOptions {
  readonly seed: number;
  /** Time after the verdict. */
  readonly durationMs: number;
  readonly faults: number;
  /** Slows the busiest link first until a pod move is reported, or this long. @default no slow link */
  readonly movesWithinMs?: number;
  readonly args?: readonly string[];
  /** Audits the overview page in a browser as well. @default false */
  readonly page?: boolean;
  readonly log?: (text: string) => void;
  readonly signal?: AbortSignal;
}

interface AuditResult {
  readonly findings: readonly Finding[];
  readonly checked: Readonly<Record<string, number>>;
  readonly faults: readonly MadeFault[];
  /** Pods that changed nodes after the verdict, and pods that were replaced on the same node. */
  readonly movedPods: number;
  readonly replacedInPlace: number;
  readonly said: string;
}

/** Timeout for the verdict. A busy machine may take minutes. */
const VERDICT_WITHIN_MS = 900_000;
const POLL_MS = 500;
const AFTER_VERDICT_MS = 2_000;

export async function auditDemo(options: AuditOptions): Promise<AuditResult> {
  const { seed, args = [], log = () => undefined, signal } = options;
  const demo = DemoRun.up("--port", "0", "--seed", String(seed), ...args);
  let truth: DemoTruth | null = null;
  let page: PageAudit | null = null;
  try {
    const addresses = await demo.addresses(VERDICT_WITHIN_MS, signal);
    truth = await DemoTruth.follow(addresses);
    const auditor = new Auditor(demo, truth, (finding) => log(`  FALSE ${findingLine(finding)}`));
    auditor.start();
    await demo.says(/^Try in another terminal/, VERDICT_WITHIN_MS, signal);
    await new Promise((resolve) => setTimeout(resolve, AFTER_VERDICT_MS));
    const verdictMs = Date.now();
    if (options.page === true) page = await PageAudit.open(addresses.page, truth);
    const faults = await makeFaults(truth, options, demo);
    const findings = [...(await auditor.stop()), ...((await page?.stop()) ?? [])];
    const replaced = truth.lives.replacements().filter(({ old }) => old.endedMs! >= verdictMs);
    const movedPods = replaced.filter(({ old, next }) => old.node !== next.node).length;
    const said = demo.lines.map(({ text }) => text).join("\n");
    const replacedInPlace = replaced.length - movedPods;
    return {
      findings,
      checked: { ...auditor.checked, ...page?.checked },
      faults,
      movedPods,
      replacedInPlace,
      said,
    };
  } finally {
    await page?.stop();
    await truth?.stop();
    await demo.stop();
  }
}

async function makeFaults(
  truth: DemoTruth,
  { seed, durationMs, faults: count, movesWithinMs, log = () => undefined, signal }: AuditOptions,
  demo: DemoRun,
): Promise<readonly MadeFault[]> {
  const random = seededRandom(seed);
  const maker = await FaultMaker.on({
    lab: truth.lab,
    truth: truth.network,
    random,
    zones: truth.zones(),
    usedNodes: () => truth.usedNodes(),
    crossedLinks: () => truth.crossedLinks(),
  });
  if (movesWithinMs !== undefined) {
    const verdictMs = Date.now();
    log(`  ${(await maker.slowBusiest()).text} until a pod moves`);
    const isTold = (): boolean =>
      demo.lines.some(({ atMs, text }) => atMs > verdictMs && readStatement(text)?.kind === "moved");
    const isAwaited = (): boolean =>
      !isTold() && Date.now() - verdictMs < movesWithinMs && demo.isRunning && signal?.aborted !== true;
    while (isAwaited()) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    log(`  ${((Date.now() - verdictMs) / 1_000).toFixed(0)} s: a pod has moved: ${isTold()}`);
    await maker.heal();
  }
  const steps = drawFaults(count, durationMs, random)
    .flatMap(({ kind, atMs, healedAtMs }) => [
      { atMs, act: async () => (await maker.make(kind)).text },
      { atMs: healedAtMs, act: async () => `healed: ${await maker.heal().then(() => "all links")}` },
    ])
    .toSorted((a, b) => a.atMs - b.atMs);
  const beganMs = Date.now();
  const isGoingOn = (): boolean =>
    Date.now() - beganMs < durationMs && demo.isRunning && signal?.aborted !== true;
  while (isGoingOn()) {
    const [next] = steps;
    if (next !== undefined && Date.now() - beganMs >= next.atMs) {
      steps.shift();
      log(`  ${((Date.now() - beganMs) / 1_000).toFixed(0)} s: ${await next.act()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return maker.made;
}
