// Simulates a day of descheduling next to replanning at each step.
import {
  createObjective,
  createStrategy,
  plan,
  planProblem,
  replacementOf,
  SchedulingModel,
} from "@isochrone/placement";
import type { PlanProblem } from "@isochrone/placement";
import { loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import { deschedulerSettings } from "@isochrone/scheduler-plugin";
import type { DeschedulerReport } from "@isochrone/scheduler-plugin";
import type { DeschedulerMode } from "@isochrone/scheduler-plugin/testing";
import { createDeschedulerTerm } from "@isochrone/scheduler-plugin/testing";
import type { Day } from "./drift.ts";
import { HOUR_MS } from "./drift.ts";
import { World } from "./world.ts";
import type { WorldMove } from "./world.ts";

interface SimulationOptions {
  readonly day: Day;
  readonly hours: number;
  readonly mode: DeschedulerMode;
  /** @default 60 s */
  readonly stepMs?: number;
  readonly seed?: number;
  readonly settings?: Readonly<Record<string, unknown>>;
}

export interface SimulatedDay {
  readonly mode: DeschedulerMode;
  /** Sum over steps of the placement's true cost, bytes/s x ms. */
  readonly cost: number;
  readonly moves: readonly WorldMove[];
  /** Cost with a new plan at each step from that step's measurements. */
  readonly replanCost: number;
  readonly replanMoves: number;
  /** Cost with the first step's plan kept all day. */
  readonly idleCost: number;
  /** Share of (step, replicated workload) in which the workload ran in one zone only. */
  readonly oneZoneShare: number;
  readonly report: DeschedulerReport;
}

const START = Date.parse("2026-01-01T00:00:00Z");
const WARM_UP_MS = 2 * HOUR_MS;
const PLAN_EFFORT = 60_000;

/** Starts with the best plan. All three variants see the same latencies and traffic. */
export async function simulate(options: SimulationOptions): Promise<SimulatedDay> {
  const { day, hours, mode, stepMs = 60_000, seed = 1, settings = {} } = options;
  // Makes pods older than any limit at the start of the day.
  const clock = new ManualClock(START - WARM_UP_MS);
  const early = new World(day, clock, seededRandom(seed), START);
  await early.begin((workload, replica) => (workload * 5 + replica * 7) % day.nodes.length);
  early.measure();
  const begin = await planned(early, early.pods);
  const world = new World(day, clock, seededRandom(seed), START);
  const firstOf = nodesByWorkload(begin);
  await world.begin((workload, replica) => firstOf.get(workload)![replica]!);
  await clock.advance(WARM_UP_MS);
  const config = loadSettings([deschedulerSettings], {
    env: {},
    overrides: { descheduler: { mode, ...settings } },
  }).descheduler;
  let lists = await world.lists();
  const term = createDeschedulerTerm({
    config,
    store: world.store,
    lists: () => ({ ...NOTHING, ...lists }),
    graphs: world,
    bytesPerRequest: 0,
    scoring: {
      strategy: createStrategy({ strategy: "resource-network", mode: "raw" }),
      usageHeadroom: false,
    },
    clock,
    logger: new MemoryLogger({ clock }),
  });
  const sums = { cost: 0, replanCost: 0, replanMoves: 0, idleCost: 0, oneZoneShare: 0 };
  const steps = (hours * HOUR_MS) / stepMs;
  let before = begin;
  for (let step = 0; step < steps; step++) {
    world.measure();
    const best = await planned(world, before);
    sums.replanMoves += step === 0 ? 0 : movesBetween(before, best);
    before = best;
    sums.replanCost += world.cost(best);
    sums.idleCost += world.cost(begin);
    lists = await world.lists();
    await term.run();
    // Without a record, the replacement's node comes from the same function that the descheduler uses.
    await world.settle(new Map(term.report.inFlight.map(({ name, to }) => [name, to])));
    sums.cost += world.cost();
    sums.oneZoneShare += oneZoneShare(day, world.pods) / steps;
    await clock.advance(stepMs);
  }
  return { mode, ...sums, moves: world.moves, report: term.report };
}

/** Returns moves of a pod, or of its replacement, within the cool-down of its previous move. */
export function hastyMoves(moves: readonly WorldMove[], coolDownMs: number): WorldMove[] {
  return moves.filter((move, index) =>
    moves.slice(0, index).some((old) => old.line === move.line && move.atMs - old.atMs < coolDownMs),
  );
}

/** Returns moves that undo one of the same workload within that time. */
export function undoneMoves(moves: readonly WorldMove[], withinMs: number): WorldMove[] {
  return moves.filter((move, index) =>
    moves
      .slice(0, index)
      .some(
        (old) =>
          old.workload === move.workload &&
          old.from === move.to &&
          old.to === move.from &&
          move.atMs - old.atMs < withinMs,
      ),
  );
}

const NOTHING = {
  namespaces: [],
  statefulSets: [],
  persistentVolumes: [],
  persistentVolumeClaims: [],
  csiNodes: [],
  volumeAttachments: [],
};

interface At {
  readonly workload: number;
  readonly node: number;
}

/** Single replicas stay. Keeps the previous plan unless the new one is better. */
async function planned(world: World, before: readonly At[]): Promise<At[]> {
  const { pods, nodes } = await world.lists();
  const byName = new Map(world.pods.map((pod) => [pod.name, pod]));
  const many = pods.filter(({ metadata: { name } }) => {
    const { workload } = byName.get(name)!;
    return world.pods.filter((pod) => pod.workload === workload).length > 1;
  });
  const problem: PlanProblem = planProblem({
    model: SchedulingModel.of({ nodes, pods }),
    pods: many.map(replacementOf),
    cluster: world.cluster()!,
    workflow: world.workflow("shop", "flow")!,
  });
  const found = plan(problem, {
    seed: 1,
    now: () => 0,
    deadlineMs: 1,
    effort: PLAN_EFFORT,
    bytesPerRequest: 0,
  });
  const nodeIndex = problem.nodes.map(({ name }) => world.nodeIndex(name));
  // Replicas are interchangeable, so their order on nodes does not matter.
  const left = nodesByWorkload(before);
  const kept = Int32Array.from(problem.pods, ({ name }) =>
    nodeIndex.indexOf(left.get(byName.get(name)!.workload)!.pop()!),
  );
  const total = createObjective(problem, { bytesPerRequest: 0 }).total(kept).total;
  const assignment = found.complete && found.cost.total < total ? found.assignment : kept;
  const nodeOf = new Map(problem.pods.map(({ name }, pod) => [name, nodeIndex[assignment[pod]!]!]));
  return world.pods.map(({ name, workload, node }) => ({ workload, node: nodeOf.get(name) ?? node }));
}

/** Replicas are interchangeable, so a move is a node that a workload leaves. */
function movesBetween(before: readonly At[], after: readonly At[]): number {
  const nodes = nodesByWorkload(after);
  let moves = 0;
  for (const { workload, node } of before) {
    const left = nodes.get(workload)!;
    const at = left.indexOf(node);
    if (at < 0) moves++;
    else left.splice(at, 1);
  }
  return moves;
}

function oneZoneShare({ nodes, workloads }: Day, pods: readonly At[]): number {
  const zones = workloads.map(
    (_, workload) =>
      new Set(pods.filter((pod) => pod.workload === workload).map(({ node }) => nodes[node]!.zone)).size,
  );
  const several = zones.filter((_, workload) => workloads[workload]!.replicas > 1);
  return several.filter((count) => count < 2).length / several.length;
}

function nodesByWorkload(pods: readonly At[]): Map<number, number[]> {
  const nodes = new Map<number, number[]>();
  for (const { workload, node } of pods) nodes.set(workload, [...(nodes.get(workload) ?? []), node]);
  return nodes;
}
