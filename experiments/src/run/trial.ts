// Protocol of a trial, the same for all contenders: place without data, observe, adjust until content, warm
// up, measure.
import { seededRandom } from "@isochrone/runtime";
import type { Random } from "@isochrone/runtime";
import type { Contender, Observation, Pace, Placement, PodMove } from "../contenders/port.ts";
import { REQUEST_TIMEOUT_MS } from "../testbed/users.ts";
import { REPLACE_MS } from "../testbed/model/index.ts";
import type { Testbed, Running, Stretch } from "../testbed/port.ts";
import type { Point } from "../scenario/model.ts";
import { ascending, quantileOfSorted } from "@isochrone/primitives";
import { mean } from "../statistics/mean.ts";
import type { Cell } from "./cells.ts";
import { factsOf, unloadedMs } from "./facts.ts";
import type { Measured, SeriesPoint } from "./result.ts";

export async function runTrial(
  cell: Cell,
  contender: Contender,
  ground: Testbed,
  signal: AbortSignal,
): Promise<Measured> {
  const { point, protocol } = cell;
  const random = seededRandom(cell.contenderSeed);
  const trial = new Trial(point, contender, random, await contender.place(point, null, random));
  const running = await ground.start(point, trial.placement, cell.loadSeed, signal);
  try {
    await running.run(protocol.learnSeconds);
    for (let round = 0; round < protocol.rounds; round += 1) {
      signal.throwIfAborted();
      const before = trial.moves;
      if (!(await trial.adjust(running, "until-content"))) break;
      // The next observation must describe the new placement, not pods in transit.
      await running.run(secondsOf(trial.moves - before));
      await running.run(protocol.learnSeconds);
    }
    if (point.load.warmUpSeconds > 0) await running.run(point.load.warmUpSeconds);
    const steadyAfterSeconds = await untilSteady(cell, running, signal);
    running.beginChanges();
    const measurement = await measure(cell, trial, running, signal);
    return { steadyAfterSeconds, ...summary(cell, trial, measurement) };
  } finally {
    await running.stop();
  }
}

/** Steady: this many rounds in a row don't beat the fastest earlier round by this share. */
const STEADY = { rounds: 2, share: 0.01 };

/**
 * Waits for a steady state. Near saturation, queues from start and moves take minutes to drain, so no fixed
 * warm-up suits all contenders. Ever-growing response times also count as steady. Null: no wait was
 * configured.
 */
async function untilSteady(
  { point, protocol }: Cell,
  running: Running,
  signal: AbortSignal,
): Promise<number | null> {
  const { steadyWithinSeconds = 0 } = point.load;
  if (steadyWithinSeconds === 0) return null;
  let least = Number.POSITIVE_INFINITY;
  let rounds = 0;
  let seconds = 0;
  while (rounds < STEADY.rounds && seconds < steadyWithinSeconds) {
    signal.throwIfAborted();
    const round = Math.min(protocol.roundSeconds, steadyWithinSeconds - seconds);
    const level = quantilesOf([await running.run(round)]).mean;
    seconds += round;
    rounds = level < least * (1 - STEADY.share) ? 0 : rounds + 1;
    least = Math.min(least, level);
  }
  return seconds;
}

function secondsOf(moves: number): number {
  return Math.ceil((moves * REPLACE_MS * 1.2) / 1000);
}

interface Measurement {
  readonly responses: readonly Float64Array[];
  readonly failed: number;
  readonly series: readonly SeriesPoint[];
}

async function measure(
  { point, protocol }: Cell,
  trial: Trial,
  running: Running,
  signal: AbortSignal,
): Promise<Measurement> {
  const { durationSeconds } = point.load;
  if (point.changes.length === 0) {
    const { responseMs, failed } = await running.run(durationSeconds);
    return { responses: [responseMs], failed, series: [] };
  }
  const responses: Float64Array[] = [];
  const series: SeriesPoint[] = [];
  let settledAtSeconds = 0;
  for (let atSeconds = 0; atSeconds < durationSeconds;) {
    signal.throwIfAborted();
    const seconds = Math.min(protocol.roundSeconds, durationSeconds - atSeconds);
    const stretch = await running.run(seconds);
    atSeconds += seconds;
    responses.push(stretch.responseMs);
    const { cost } = factsOf(pointAt(point, atSeconds), trial.placement);
    const before = trial.moves;
    const isMeasuredFurther = atSeconds < durationSeconds;
    // Observations must come from pods at their final nodes; each contender's controllers wait for that.
    const isSettled = atSeconds - seconds >= settledAtSeconds;
    if (isMeasuredFurther && !(await trial.bringBack(running)) && isSettled)
      await trial.adjust(running, "in-time");
    if (trial.moves > before) settledAtSeconds = atSeconds + secondsOf(trial.moves - before);
    series.push({ atSeconds, ...quantilesOf([stretch]), cost, moves: trial.moves - before });
  }
  return { responses, failed: series.reduce((sum, { failed }) => sum + failed, 0), series };
}

export function pointAt(point: Point, atSeconds: number): Point {
  let { cluster, workflow } = point;
  for (const change of point.changes.filter((each) => each.atSeconds < atSeconds)) {
    if (change.kind === "region-latency") {
      const isIn = cluster.nodes.map(({ region }) => region === change.region);
      const rttMs = cluster.rttMs.map((row, a) =>
        row.map((ms, b) => (isIn[a] === isIn[b] ? ms : ms * change.factor)),
      );
      cluster = { ...cluster, rttMs };
    } else if (change.kind === "call-probability") {
      const { caller, callee, probability } = change;
      const workloads = workflow.workloads.map((workload) =>
        workload.name === caller
          ? {
              ...workload,
              calls: workload.calls.map((call) => (call.callee === callee ? { ...call, probability } : call)),
            }
          : workload,
      );
      workflow = { ...workflow, workloads };
    }
  }
  return { ...point, cluster, workflow };
}

/** Returns the p95 of a contender that knows the final state from the start. */
export async function settledP95(
  cell: Cell,
  contender: Contender,
  ground: Testbed,
  signal: AbortSignal,
): Promise<number> {
  return (await runTrial({ ...cell, point: afterChanges(cell.point) }, contender, ground, signal)).p95;
}

function afterChanges(point: Point): Point {
  const dead = new Set(point.changes.flatMap((change) => (change.kind === "node-down" ? [change.node] : [])));
  const { cluster, workflow } = pointAt(point, Number.POSITIVE_INFINITY);
  const left = [...cluster.nodes.keys()].filter((index) => !dead.has(cluster.nodes[index]!.name));
  return {
    ...point,
    workflow,
    changes: [],
    cluster: {
      nodes: left.map((index) => cluster.nodes[index]!),
      rttMs: left.map((row) => left.map((column) => cluster.rttMs[row]![column]!)),
    },
  };
}

function summary(
  { point, ground }: Cell,
  trial: Trial,
  { responses, failed, series }: Measurement,
): Omit<Measured, "steadyAfterSeconds"> {
  const stretches = responses.map((responseMs, index) => ({ responseMs, failed: index === 0 ? failed : 0 }));
  const quantiles = quantilesOf(stretches);
  const answered = quantiles.requests - failed;
  const end = pointAt(point, point.load.durationSeconds);
  const hopMs = ground.name === "model" ? ground.model.hopMs : 0;
  const alone = unloadedMs(end, trial.placement, hopMs, seededRandom(1));
  const scale = ground.name === "lab" ? ground.lab.scale : 1;
  return {
    ...quantiles,
    throughput: (answered * scale) / point.load.durationSeconds,
    rounds: trial.rounds,
    moves: trial.moves,
    placement: Object.fromEntries(trial.placement),
    facts: factsOf(end, trial.placement),
    queueingShare: Math.max(0, 1 - alone / quantiles.mean),
    series,
    settledP95: null,
  };
}

type Quantiles = Pick<Measured, "requests" | "failed" | "p50" | "p95" | "p99" | "mean">;

/** Failed requests count as slowest. Otherwise contenders with most failures would look fastest. */
function quantilesOf(stretches: readonly Stretch[]): Quantiles {
  const failed = stretches.reduce((sum, stretch) => sum + stretch.failed, 0);
  const answered = stretches.flatMap(({ responseMs }) => [...responseMs]);
  const sorted = ascending([...answered, ...Array.from<number>({ length: failed }).fill(REQUEST_TIMEOUT_MS)]);
  const at = (share: number): number =>
    sorted.length === 0 ? REQUEST_TIMEOUT_MS : quantileOfSorted(sorted, share);
  return {
    requests: sorted.length,
    failed,
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    mean: sorted.length === 0 ? REQUEST_TIMEOUT_MS : mean(sorted),
  };
}

class Trial {
  rounds = 0;
  moves = 0;
  readonly #point: Point;
  readonly #contender: Contender;
  readonly #random: Random;
  #placement: Map<string, string>;

  constructor(point: Point, contender: Contender, random: Random, placement: Placement) {
    this.#point = point;
    this.#contender = contender;
    this.#random = random;
    this.#placement = new Map(placement);
  }

  get placement(): Placement {
    return this.#placement;
  }

  /** Runs one round; returns false if the contender is content. */
  async adjust(running: Running, pace: Pace): Promise<boolean> {
    const observed = running.observe();
    const moves = await this.#contender.adjust(
      this.#pointNow(observed),
      this.#placement,
      observed,
      this.#random,
      pace,
    );
    if (moves.length === 0) return false;
    this.rounds += 1;
    await this.#move(running, moves);
    return true;
  }

  /** Places pods of dead nodes anew; returns false if there are none. */
  async bringBack(running: Running): Promise<boolean> {
    const observed = running.observe();
    const there = new Set(observed.cluster.nodes.map(({ name }) => name));
    const kept = new Map([...this.#placement].filter(([, node]) => there.has(node)));
    if (kept.size === this.#placement.size) return false;
    const placed = await this.#contender.place(this.#pointNow(observed), observed, this.#random, kept);
    const lost = [...this.#placement].filter(([pod]) => !kept.has(pod));
    await this.#move(
      running,
      lost.map(([pod, from]) => ({ pod, from, to: placed.get(pod)! })),
    );
    return true;
  }

  async #move(running: Running, moves: readonly PodMove[]): Promise<void> {
    await running.move(moves);
    this.moves += moves.length;
    for (const { pod, to } of moves) this.#placement.set(pod, to);
  }

  #pointNow(observed: Observation): Point {
    return { ...this.#point, cluster: observed.cluster };
  }
}
