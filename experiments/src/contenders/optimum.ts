// Minimum cost by integer programming, where solvable. A yardstick for the other contenders.
import { exactPlan } from "@isochrone/placement";
import type { Random } from "@isochrone/runtime";
import type { Point } from "../scenario/model.ts";
import { placementCost, planningByUse } from "./cost.ts";
import type { ContenderDeps } from "./deps.ts";
import { loadSolver } from "./highs.ts";
import type { SchedulingRequest } from "./kube-scheduler/port.ts";
import { expectedOf } from "./expected.ts";
import { spreadLimits } from "./planning.ts";
import { movesBetween, requestOf, together } from "./pods.ts";
import { ContenderError } from "./port.ts";
import type { Contender, Observation, Placement, PodMove } from "./port.ts";
import { USERS } from "./traffic.ts";

/** Maximum pod-node pairs that HiGHS usually solves in time. */
const MAX_PAIRS = 120;
const SOLVE_MS = 60_000;
/** A channel's share of the traffic has changed if the relative difference exceeds this and chance. */
const DIFFERENT = 0.3;
/**
 * Poisson standard deviations that count as chance. A call made twice per second is counted 20 times in 10 s,
 * give or take 22 %. DIFFERENT alone would flag every seventh interval, and five of six for a workflow with a
 * dozen such channels. Four deviations are exceeded once in 4,600.
 */
const DEVIATIONS = 4;
/**
 * Assumed seconds of an observation, which doesn't state its length: the shortest round in scenarios with
 * changes. Longer observations get more tolerance than needed, so small changes of rare calls go unnoticed.
 */
const STRETCH_SECONDS = 10;
/** Measurements vary by this share between intervals. Smaller gains move nothing. */
const CLOSE = 0.01;

/** Cache by question. Trials repeat questions, and an answer takes seconds. */
const answers = new Map<string, Placement>();
const MAX_ANSWERS = 200;

export class OptimumContender implements Contender {
  readonly id = "optimum";
  readonly by = "integer programming (HiGHS)";
  readonly #deps: ContenderDeps;
  #settled: Known | null = null;

  constructor(deps: ContenderDeps) {
    this.#deps = deps;
  }

  async place(
    point: Point,
    before: Observation | null,
    _random: Random,
    kept: Placement = new Map(),
  ): Promise<Placement> {
    const request = requestOf(point, before?.cluster ?? point.cluster, kept);
    return together(request, await this.#solve(point, knownOf(point, before).workflow, request));
  }

  async adjust(point: Point, placement: Placement, observed: Observation): Promise<readonly PodMove[]> {
    const request = requestOf(point, observed.cluster, new Map());
    const known = knownOf(point, observed);
    // Rates that differ only by chance keep the previous answer, which takes seconds to compute.
    if (this.#settled !== null && isAlike(this.#settled, known)) return [];
    const { workflow } = known;
    const best = await this.#solve(point, workflow, request);
    this.#settled = known;
    const now = placementCost(point, workflow, placement).total;
    if (now <= placementCost(point, workflow, best).total * (1 + CLOSE)) return [];
    return movesBetween(point, placement, best);
  }

  async close(): Promise<void> {}

  async #solve(point: Point, before: Observation, request: SchedulingRequest): Promise<Placement> {
    const question = JSON.stringify([
      point.workflow,
      request,
      before.cluster.rttMs,
      [...before.use],
      before.traffic,
    ]);
    const known = answers.get(question);
    if (known !== undefined) return known;
    const placement = await this.#search(point, before, request);
    if (answers.size >= MAX_ANSWERS) answers.clear();
    answers.set(question, placement);
    return placement;
  }

  /** Uses the planner's availability rules, so that the two are comparable. */
  async #search(point: Point, before: Observation, request: SchedulingRequest): Promise<Placement> {
    const { clock, product } = this.#deps;
    const spread = spreadLimits(product.planner, point.workflow);
    const { problem } = planningByUse({ point, before, request, spread });
    const now = (): number => clock.monotonic();
    const solve = await loadSolver();
    const limits = { deadlineMs: now() + SOLVE_MS, maxPairs: MAX_PAIRS };
    const solved = await exactPlan(problem, { solve, now, ...limits }).catch((cause: unknown) => {
      throw new ContenderError(this.id, "unsolved: the solver failed", { cause });
    });
    switch (solved.kind) {
      case "optimal":
        return new Map(
          problem.pods.map(({ name }, pod) => [name, problem.nodes[solved.assignment[pod]!]!.name]),
        );
      case "infeasible":
        throw new ContenderError(this.id, "unsolved: no placement holds what the pods need");
      case "unfinished":
        throw new ContenderError(this.id, `unsolved within ${SOLVE_MS / 1_000} s`);
      case "unsupported":
        throw new ContenderError(this.id, `unsolved: ${solved.reason}`);
      default:
        throw new TypeError(`unknown answer ${String(solved satisfies never)}`);
    }
  }
}

interface Known {
  readonly workflow: Observation;
  /** True: counted in an interval, with random variation. False: from the scenario. */
  readonly isCounted: boolean;
}

/**
 * Uses the scenario's own future. It checks observed calls only where the scenario changes them. Elsewhere a
 * difference is chance or overload, and solving for it would make the yardstick a guess.
 */
function knownOf(point: Point, observed: Observation | null): Known {
  const expected: Known = { workflow: expectedOf(point), isCounted: false };
  if (observed === null) return expected;
  const { cluster } = observed;
  const callsChange = point.changes.some(({ kind }) => kind === "call-probability");
  if (!callsChange || isTrafficAlike(expected, { workflow: observed, isCounted: true }))
    return { ...expected, workflow: { ...expected.workflow, cluster } };
  const use = [...expected.workflow.use].map(([workload, need]) => {
    const measured = observed.use.get(workload) ?? need;
    // An overloaded node hides the demand of its pods.
    const cpuMillicores = Math.max(need.cpuMillicores, measured.cpuMillicores);
    return [workload, { cpuMillicores, memoryBytes: measured.memoryBytes }] as const;
  });
  return { workflow: { ...observed, use: new Map(use) }, isCounted: true };
}

function isAlike(before: Known, now: Known): boolean {
  const [a, b] = [before.workflow.cluster, now.workflow.cluster];
  const isSameCluster =
    JSON.stringify([a.nodes.map(({ name }) => name), a.rttMs]) ===
    JSON.stringify([b.nodes.map(({ name }) => name), b.rttMs]);
  return isSameCluster && isTrafficAlike(before, now);
}

/** Compares shares of the traffic, because an overloaded workflow has less of everything. */
function isTrafficAlike(before: Known, now: Known): boolean {
  const shares = sharesOf(now.workflow);
  const counted = Number(before.isCounted) + Number(now.isCounted);
  return [...sharesOf(before.workflow)].every(([channel, { share, perSecond }]) => {
    const chance = DEVIATIONS * Math.sqrt(counted / (perSecond * STRETCH_SECONDS));
    return Math.abs((shares.get(channel)?.share ?? 0) - share) <= Math.max(DIFFERENT, chance) * share;
  });
}

interface Share {
  /** Share of all bytes. */
  readonly share: number;
  readonly perSecond: number;
}

function sharesOf({ traffic }: Observation): Map<string, Share> {
  const inside = traffic.filter(({ source }) => source !== USERS);
  const all = inside.reduce((sum, { bytesPerSecond }) => sum + bytesPerSecond, 0);
  return new Map(
    inside.map(({ source, target, bytesPerSecond, requestsPerSecond }) => [
      `${source} ${target}`,
      { share: bytesPerSecond / all, perSecond: requestsPerSecond },
    ]),
  );
}
