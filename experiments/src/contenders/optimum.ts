// The least cost that there is, by integer programming, where it solves: not somebody to be beaten, but how far the others are from it.
import { exactPlan } from "@isochrone/placement";
import type { Random } from "@isochrone/runtime";
import type { Point } from "../scenario/model.ts";
import { placementCost, planningByUse } from "./cost.ts";
import type { ContenderDeps } from "./deps.ts";
import { loadSolver } from "./highs.ts";
import type { SchedulingRequest } from "./kube-scheduler/port.ts";
import { expectedOf, USERS } from "./expected.ts";
import { spreadLimits } from "./planning.ts";
import { podsOf, requestOf, together } from "./pods.ts";
import { ContenderError } from "./port.ts";
import type { Contender, Observation, Placement, PodMove } from "./port.ts";

/** Pairs of a pod and a node up to which HiGHS mostly answers in that time. */
const MAX_PAIRS = 120;
const SOLVE_MS = 60_000;
/** A channel's share of the traffic is another one when it differs by more than this part. */
const DIFFERENT = 0.3;
/** What is measured differs by that much from stretch to stretch: nothing is moved for less. */
const CLOSE = 0.01;

/** Trials ask the same of it again and again, and an answer takes seconds. By question. */
const answers = new Map<string, Placement>();
const MAX_ANSWERS = 200;

export class OptimumContender implements Contender {
  readonly id = "optimum";
  readonly by = "integer programming (HiGHS)";
  readonly #deps: ContenderDeps;

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
    return together(request, await this.#solve(point, knownOf(point, before), request));
  }

  async adjust(point: Point, placement: Placement, observed: Observation): Promise<readonly PodMove[]> {
    const request = requestOf(point, observed.cluster, new Map());
    const known = knownOf(point, observed);
    const best = await this.#solve(point, known, request);
    const now = placementCost(point, known, placement).total;
    if (now <= placementCost(point, known, best).total * (1 + CLOSE)) return [];
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

  /** Under the planner's own rules of availability, so that the two can be compared. */
  async #search(point: Point, before: Observation, request: SchedulingRequest): Promise<Placement> {
    const { clock, product } = this.#deps;
    const { problem } = planningByUse({ point, before, request, spread: spreadLimits(product.planner) });
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

/** It may know what nobody can: what the workflow will do. Only where it does something else by now, such as after a change, does it look. */
function knownOf(point: Point, observed: Observation | null): Observation {
  const expected = expectedOf(point);
  if (observed === null) return expected;
  const { cluster } = observed;
  if (isAsExpected(expected, observed)) return { ...expected, cluster };
  const use = [...expected.use].map(([workload, need]) => {
    const measured = observed.use.get(workload) ?? need;
    // A node that is too busy hides what its pods need.
    const cpuMillicores = Math.max(need.cpuMillicores, measured.cpuMillicores);
    return [workload, { cpuMillicores, memoryBytes: measured.memoryBytes }] as const;
  });
  return { ...observed, use: new Map(use) };
}

/** Whether the traffic is spread over the channels as the scenario says: by shares, since a crowded workflow answers less of everything. */
function isAsExpected(expected: Observation, observed: Observation): boolean {
  const shares = sharesOf(observed);
  return [...sharesOf(expected)].every(
    ([channel, share]) => Math.abs((shares.get(channel) ?? 0) - share) <= DIFFERENT * share,
  );
}

function sharesOf({ traffic }: Observation): Map<string, number> {
  const inside = traffic.filter(({ source }) => source !== USERS);
  const all = inside.reduce((sum, { bytesPerSecond }) => sum + bytesPerSecond, 0);
  return new Map(
    inside.map(({ source, target, bytesPerSecond }) => [`${source} ${target}`, bytesPerSecond / all]),
  );
}

/** Replicas are alike: one that is where the other placement has another one stays. */
export function movesBetween(point: Point, from: Placement, to: Placement): PodMove[] {
  const moves: PodMove[] = [];
  for (const replicas of Map.groupBy(podsOf(point), ({ workload }) => workload).values()) {
    const targets = replicas.map(({ name }) => to.get(name)!);
    const leaving = replicas.filter(({ name }) => {
      const at = targets.indexOf(from.get(name) ?? "");
      if (at >= 0) targets.splice(at, 1);
      return at < 0 && from.has(name);
    });
    for (const [index, { name }] of leaving.entries())
      moves.push({ pod: name, from: from.get(name)!, to: targets[index]! });
  }
  return moves;
}
