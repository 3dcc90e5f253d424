// Injects and heals faults on an embedded cluster, and reports moves, targets and failed requests.
import { Embedded } from "@isochrone/cli/embedded";
import { KINDS } from "@isochrone/kubernetes";
import { createLogger, seededRandom } from "@isochrone/runtime";
import { eventually } from "../embedded.ts";
import type { FaultRunResult, FaultReport, ModelFault } from "../model/fault-run.ts";
import { DemoTruth } from "./demo-truth.ts";
import { FaultMaker } from "./faults.ts";
import { p95Between } from "./load-rules.ts";
import { trueCost } from "./network-rules.ts";
import type { PodLife } from "./pod-lives.ts";

interface DemoFaultOptions {
  readonly seed: number;
  readonly faults: readonly ModelFault[];
  readonly log?: (text: string) => void;
  readonly signal?: AbortSignal;
}

const MEASURED_WITHIN_MS = 600_000;
const NODES = 8;
const LINKS = NODES * (NODES - 1);
const CHANNELS = 21;
const FAULT_MS = 240_000;
const HEALED_MS = 150_000;
const ROLL_MS = 45_000;
/** A point of the load's timeline covers the preceding 10 s. */
const POINT_MS = 10_000;
const POLL_MS = 1_000;

type Replaced = { readonly old: PodLife; readonly next: PodLife };

/** Runs the demo's default cluster: 8 nodes, 5 requests/s, 30 s windows, placed by the planner. */
export async function demoFaultRun({
  seed,
  faults,
  log = () => undefined,
  signal,
}: DemoFaultOptions): Promise<FaultRunResult> {
  const ending = new AbortController();
  const logger = createLogger({
    service: "soak",
    level: "error",
    format: "text",
    destination: process.stderr,
  });
  const options = {
    port: 0,
    nodes: NODES,
    requestsPerSecond: 5,
    windowMs: 30_000,
    placement: "spread",
  } as const;
  const embedded = await Embedded.start(
    { ...options, seed, allowedHosts: [], logger, env: {} },
    ending.signal,
  );
  let truth: DemoTruth | null = null;
  try {
    const { page, extender, lab: emulator } = embedded.urls;
    truth = await DemoTruth.follow({ page, extender, emulator });
    await eventually("all channels and links are measured", MEASURED_WITHIN_MS, async () => {
      const { value: graph } = await embedded.graphs.cluster();
      const { value: workflow } = await embedded.graphs.workflow("default", "sample");
      const measured = new Set(
        graph.links.filter(({ rttMs }) => rttMs.p50 !== null).map((link) => `${link.source} ${link.target}`),
      );
      return measured.size >= LINKS && workflow.channels.length >= CHANNELS;
    });
    await embedded.placeByPlan(ending.signal);
    await embedded.startMoving();
    return await new DemoFaults(truth, embedded, signal).all(seed, faults, log);
  } finally {
    await truth?.stop();
    ending.abort();
    await embedded.stop();
  }
}

class DemoFaults {
  readonly #truth: DemoTruth;
  readonly #embedded: Embedded;
  readonly #signal: AbortSignal | undefined;
  readonly #targets = new Map<string, string>();
  readonly #movedWorkloads = new Set<string>();
  #moves = 0;
  #failed = 0;

  constructor(truth: DemoTruth, embedded: Embedded, signal: AbortSignal | undefined) {
    this.#truth = truth;
    this.#embedded = embedded;
    this.#signal = signal;
  }

  async all(
    seed: number,
    faults: readonly ModelFault[],
    log: (text: string) => void,
  ): Promise<FaultRunResult> {
    const { lab, network } = this.#truth;
    const maker = await FaultMaker.on({
      lab,
      truth: network,
      random: seededRandom(seed),
      zones: this.#truth.zones(),
      usedNodes: () => this.#truth.usedNodes(),
      crossedLinks: () => this.#truth.crossedLinks(),
    });
    const reports: FaultReport[] = [];
    for (const fault of faults) {
      if (this.#signal?.aborted === true) break;
      reports.push(await this.#one(maker, fault, log));
    }
    const failedPerMove = this.#moves === 0 ? null : this.#failed / this.#moves;
    return { reports, failedPerMove, failedPerRolled: await this.#rolled() };
  }

  async #one(maker: FaultMaker, fault: ModelFault, log: (text: string) => void): Promise<FaultReport> {
    const { text } = await maker.make(fault);
    log(`  ${text}`);
    const beganMs = Date.now();
    await this.#watch(FAULT_MS);
    const faultEndMs = Date.now();
    const moved = this.#replaced(beganMs);
    const most = fault === "dead-node" ? 2 : 1;
    const mistakes = [
      ...this.#onTarget(moved, fault),
      ...[...Map.groupBy(moved, ({ old }) => old.workload)]
        .filter(([, all]) => all.length > most)
        .map(([workload, all]) => `${workload} was replaced ${all.length} times for one fault`),
    ];
    if (fault !== "dead-node") {
      mistakes.push(...this.#p95(moved, beganMs, faultEndMs));
      this.#moves += moved.length;
      this.#failed += this.#failures(beganMs, faultEndMs);
      for (const { old } of moved) this.#movedWorkloads.add(old.workload);
    }
    await maker.heal();
    const healedMs = Date.now();
    const before = this.#truth.lives.placementAt(healedMs);
    await this.#watch(HEALED_MS);
    const after = this.#replaced(healedMs);
    mistakes.push(...this.#onTarget(after, fault), ...(await this.#gained(before, after)));
    const failedRequests = this.#failures(beganMs, faultEndMs);
    return { fault: text, moved: moved.length, mistakes, failedRequests };
  }

  async #watch(ms: number): Promise<void> {
    const endMs = Date.now() + ms;
    while (Date.now() < endMs && this.#signal?.aborted !== true) {
      const { inFlight } = await this.#truth
        .deschedulerReport<{ readonly inFlight: readonly { readonly name: string; readonly to: string }[] }>()
        .catch(() => ({ inFlight: [] }));
      for (const { name, to } of inFlight) this.#targets.set(name, to);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  #replaced(sinceMs: number): Replaced[] {
    return this.#truth.lives.replacements().filter(({ old }) => old.endedMs! >= sinceMs);
  }

  #onTarget(moved: readonly Replaced[], fault: ModelFault): string[] {
    return moved.flatMap(({ old, next }) => {
      const target = this.#targets.get(old.name);
      const way = `${old.workload} ${old.node} -> ${next.node}`;
      if (target === undefined) return fault === "dead-node" ? [] : [`${way} was never announced`];
      return next.node === target && next.node !== old.node ? [] : [`${way}, announced for ${target}`];
    });
  }

  #p95(moved: readonly Replaced[], beganMs: number, endMs: number): string[] {
    if (moved.length === 0) return [];
    const firstMs = Math.min(...moved.map(({ old }) => old.endedMs!));
    const lastMs = Math.max(...moved.map(({ next }) => next.readyMs!));
    const { points } = this.#truth;
    const before = p95Between(points, beganMs + POINT_MS, firstMs);
    const after = p95Between(points, lastMs + POINT_MS + 2_000, endMs);
    // Too few requests before or after the fault to compare.
    if (before === null || after === null || after < before) return [];
    return [
      `p95 was ${before.toFixed(0)} ms before ${moved.length} moves and is ${after.toFixed(0)} ms after them`,
    ];
  }

  async #gained(before: ReadonlyMap<string, string>, moved: readonly Replaced[]): Promise<string[]> {
    if (moved.length === 0) return [];
    const nowMs = Date.now();
    const { channels } = await this.#truth.record.workflow();
    const was = trueCost(channels, before, nowMs, this.#truth.network);
    const is = trueCost(channels, this.#truth.lives.placementAt(nowMs), nowMs, this.#truth.network);
    if (was === null || (is !== null && is < was)) return [];
    return [`after healing ${moved.length} pods moved: ${was.toFixed(0)} -> ${is?.toFixed(0)} bytes/s x ms`];
  }

  /** Points overlap, so each counts only for its step. */
  #failures(fromMs: number, toMs: number): number {
    const points = this.#truth.points.filter(({ at }) => Date.parse(at) >= fromMs && Date.parse(at) < toMs);
    return points.reduce((sum, { errors }) => sum + errors, 0) / 5;
  }

  async #rolled(): Promise<number | null> {
    const workloads = [...this.#movedWorkloads];
    if (workloads.length === 0) return null;
    let failed = 0;
    for (const workload of workloads) {
      const beganMs = Date.now();
      const annotations = { "kubectl.kubernetes.io/restartedAt": new Date(beganMs).toISOString() };
      const ref = { ...KINDS.deployment, namespace: "default", name: workload };
      await this.#embedded.store.patch(ref, { spec: { template: { metadata: { annotations } } } });
      await this.#watch(ROLL_MS);
      failed += this.#failures(beganMs, Date.now());
    }
    return failed / workloads.length;
  }
}
