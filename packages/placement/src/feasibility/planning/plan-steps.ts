// A step is the smallest set of moves worth an eviction.
import type { MoveRules } from "../../descheduler/deschedule-input.ts";
import type { PodMove, Proposal } from "../../descheduler/proposal.ts";
import { WorkflowMoves } from "../../descheduler/workflow-moves.ts";
import type { CostModel } from "../../planner/objective/objective.ts";
import { gainNoise } from "../../planner/search/gain-noise.ts";
import { obstacleAt } from "./move-obstacle.ts";
import type { FeasiblePlanProblem } from "./plan-input.ts";

/** Relative variation of rates between windows of some hundred requests. */
const RATE_NOISE = 0.05;
const MOST_TOGETHER = 8;
/** Number of moves tried as start of a group, and as each next move. */
const GROUPED = 24;
/** Above this many pods x nodes, steps come from a found plan only. */
const MOST_PAIRS = 20_000;
const MOST_PRUNED = 64;

export interface PlanStep {
  readonly moves: readonly PodMove[];
  /** Saving after the previous steps, bytes/s x ms. */
  readonly gain: number;
  readonly error: number;
  /** Gains less than half its error, or less than half the minimum. */
  readonly isWeak: boolean;
  /** Gain plus error is below half the minimum. */
  readonly isWorthless: boolean;
  readonly obstacle: string | null;
}

export interface PlanSteps {
  readonly steps: readonly PlanStep[];
  readonly target: Int32Array;
  readonly whole: Int32Array;
}

interface StepsInput {
  readonly problem: FeasiblePlanProblem;
  readonly model: CostModel;
  readonly rules: MoveRules;
  readonly blocked: ReadonlyMap<number, string>;
}

/** Node by pod: moving only the movable pods, and moving all. */
interface Targets {
  readonly open: Int32Array | null;
  readonly all: Int32Array | null;
}

export class StepBuilder {
  readonly #input: StepsInput;
  readonly #current: Int32Array;

  constructor(input: StepsInput) {
    this.#input = input;
    this.#current = Int32Array.from(input.problem.pods, ({ current }) => current);
  }

  get current(): Int32Array {
    return this.#current;
  }

  /** Steps that can be executed now come first. */
  towards({ open, all }: Targets): PlanSteps {
    const walk = this.#walk();
    if (open !== null) walk.towards(this.#movesTo(open, false));
    if (all !== null) walk.towards(this.#movesTo(all, true));
    return walk.result();
  }

  greedy(): PlanSteps | null {
    const { problem, blocked } = this.#input;
    if (problem.pods.length * problem.nodes.length > MOST_PAIRS) return null;
    const walk = this.#walk();
    const pods = [...problem.pods.keys()];
    walk.greedily(pods.filter((pod) => !blocked.has(pod)));
    if (blocked.size > 0) walk.greedily(pods.filter((pod) => blocked.has(pod)));
    return walk.result();
  }

  again(steps: readonly (readonly PodMove[])[]): PlanSteps {
    const walk = this.#walk();
    const isBlocked = (moves: readonly PodMove[]): boolean =>
      moves.some(({ pod }) => this.#input.blocked.has(pod));
    const left = steps
      .map((moves) => moves.filter(({ pod, node }) => node !== this.#current[pod]))
      .filter((moves) => moves.length > 0);
    for (const moves of left) if (!isBlocked(moves)) walk.again(moves);
    for (const moves of left) if (isBlocked(moves)) walk.again(moves);
    return walk.result();
  }

  /**
   * Whether `a` saves more than `b`, beyond the errors and the cost of extra moves: by executable steps, else
   * by all.
   */
  isClearlyBetter(a: PlanSteps, b: PlanSteps): boolean {
    const { model, rules } = this.#input;
    const more = Math.max(0, movesIn(a) - movesIn(b)) * rules.minGain;
    const [now, other] = [gainNow(a), gainNow(b)];
    const doubt = gainNoise(model, a.target, b.target) + RATE_NOISE * Math.max(now, other) + more;
    if (now - other > doubt) return true;
    if (now - other < -doubt) return false;
    const [all, others] = [gainOfAll(a), gainOfAll(b)];
    return all - others > gainNoise(model, a.whole, b.whole) + RATE_NOISE * Math.max(all, others) + more;
  }

  #walk(): Walk {
    return new Walk(this.#input, this.#current);
  }

  #movesTo(target: Int32Array, isBlocked: boolean): PodMove[] {
    return Array.from(target, (node, pod) => ({ pod, node })).filter(
      ({ pod, node }) => node !== this.#current[pod] && this.#input.blocked.has(pod) === isBlocked,
    );
  }
}

export function gainNow({ steps }: PlanSteps): number {
  return steps.reduce((sum, { gain, obstacle }) => (obstacle === null ? sum + gain : sum), 0);
}

function gainOfAll({ steps }: PlanSteps): number {
  return steps.reduce((sum, { gain }) => sum + gain, 0);
}

function movesIn({ steps }: PlanSteps): number {
  return steps.reduce((sum, { moves }) => sum + moves.length, 0);
}

class Walk {
  readonly #input: StepsInput;
  readonly #moves: WorkflowMoves;
  readonly #steps: PlanStep[] = [];
  readonly #nodes = new Map<string, string[]>();
  readonly #at: Int32Array;
  readonly #target: Int32Array;
  /** Whether a step must fit without waiting for other moves. */
  #mustFit = true;

  constructor(input: StepsInput, current: Int32Array) {
    this.#input = input;
    this.#at = current.slice();
    this.#target = current.slice();
    const { problem, rules } = input;
    const { workflow } = problem;
    const pods = problem.pods.map(({ namespace, name, workload }) => {
      const owner = `${namespace}/${workload ?? name}`;
      let nodes = this.#nodes.get(owner);
      if (nodes === undefined) {
        const replicas = workload === null ? [] : [...workflow.replicas(workload).values()];
        this.#nodes.set(owner, (nodes = replicas.filter((node) => node !== null)));
      }
      return { uid: `${namespace}/${name}`, namespace, name, owner, replicaNodes: nodes };
    });
    const key = `${workflow.namespace}/${workflow.name}`;
    this.#moves = new WorkflowMoves({ key, problem, pods }, rules);
  }

  result(): PlanSteps {
    return { steps: this.#steps, target: this.#target, whole: this.#at };
  }

  towards(moves: readonly PodMove[]): void {
    // Declared priorities replace traffic for placing pods, never for moving them.
    if (this.#moves.blind !== null) return;
    let left = moves;
    for (const mustFit of [true, false]) {
      this.#mustFit = mustFit;
      for (;;) {
        const step = this.#single(left) ?? this.#group(left) ?? this.#rest(left);
        if (step === null) break;
        left = left.filter(({ pod }) => step.moves.every((move) => move.pod !== pod));
        this.#take(step);
      }
    }
    this.#mustFit = true;
  }

  greedily(pods: readonly number[]): void {
    if (this.#moves.blind !== null) return;
    let left = pods;
    while (left.length > 0) {
      const singles = left.flatMap((pod) => this.#moves.singles(pod).slice(0, 1));
      const step = this.#best(singles) ?? this.#best(this.#groupsOf(left));
      if (step === null) return;
      left = left.filter((pod) => step.moves.every((move) => move.pod !== pod));
      this.#take(step);
    }
  }

  again(moves: readonly PodMove[]): void {
    const found = this.#moves.judgeTogether(moves);
    this.#take(found ?? { moves, gain: 0, cost: 0 });
  }

  #groupsOf(pods: readonly number[]): Proposal[] {
    const open = new Set(pods);
    return pods
      .toSorted((a, b) => this.#moves.costOf(b) - this.#moves.costOf(a))
      .slice(0, GROUPED)
      .map((pod) => this.#moves.group(pod))
      .filter((group) => group !== null)
      .filter(({ moves }) => moves.every(({ pod }) => open.has(pod)));
  }

  #single(left: readonly PodMove[]): Proposal | null {
    return this.#best(left.map((move) => this.#moves.judge([move])).filter((found) => found !== null));
  }

  #best(proposals: readonly Proposal[]): Proposal | null {
    const sorted = proposals.toSorted((a, b) => b.gain / b.moves.length - a.gain / a.moves.length);
    return sorted.find((proposal) => this.#isWorthIt(proposal)) ?? null;
  }

  #isWorthIt(proposal: Proposal): boolean {
    if (!this.#moves.pays(proposal) || proposal.gain <= this.#errorOf(proposal)) return false;
    const { moves } = proposal;
    return !this.#mustFit || moves.length === 1 || this.#moves.inTurn(moves).length === moves.length;
  }

  #group(left: readonly PodMove[]): Proposal | null {
    const gains = new Map(
      left.map((move) => [move, this.#moves.judgeTogether([move])?.gain ?? -Infinity] as const),
    );
    const first = left.toSorted((a, b) => gains.get(b)! - gains.get(a)!).slice(0, GROUPED);
    return this.#best(first.map((move) => this.#grown(move, first)).filter((found) => found !== null));
  }

  #grown(first: PodMove, others: readonly PodMove[]): Proposal | null {
    let group: readonly PodMove[] = [first];
    while (group.length < Math.min(MOST_TOGETHER, others.length)) {
      let best: Proposal | null = null;
      for (const next of others) {
        if (group.includes(next)) continue;
        const found = this.#moves.judgeTogether([...group, next]);
        if (found !== null && (best === null || found.gain > best.gain)) best = found;
      }
      if (best === null) return null;
      if (this.#isWorthIt(best)) return best;
      group = best.moves;
    }
    return null;
  }

  #rest(left: readonly PodMove[]): Proposal | null {
    let rest = this.#moves.judgeTogether(left);
    while (rest !== null && rest.moves.length > 1 && rest.moves.length <= MOST_PRUNED) {
      const fewer = this.#without(rest);
      if (fewer === null) break;
      rest = fewer;
    }
    return rest !== null && this.#isWorthIt(rest) ? rest : null;
  }

  #without({ moves, gain }: Proposal): Proposal | null {
    const others = moves
      .map((move) => this.#moves.judgeTogether(moves.filter((other) => other !== move)))
      .filter((found) => found !== null)
      .sort((a, b) => b.gain - a.gain);
    const [best] = others;
    return best !== undefined && gain - best.gain < this.#moves.leastAdded ? best : null;
  }

  #take({ moves, gain }: Proposal): void {
    const { blocked, model } = this.#input;
    const inTurn = this.#moves.inTurn(moves);
    const stuck = moves.find((move) => !inTurn.includes(move));
    const reason = moves.map(({ pod }) => blocked.get(pod)).find((each) => each !== undefined) ?? null;
    const obstacle =
      reason ?? (stuck === undefined ? null : obstacleAt(model, this.#at, { ...stuck, made: inTurn }));
    const ordered = [...inTurn, ...moves.filter((move) => !inTurn.includes(move))];
    const error = this.#errorOf({ moves, gain });
    const least = this.#moves.leastAdded * moves.length;
    const isWeak = !(gain > Math.max(error, least) / 2);
    const isWorthless = gain + error < least / 2;
    this.#steps.push({ moves: ordered, gain, error, isWeak, isWorthless, obstacle });
    this.#moves.settle(moves);
    const { problem } = this.#input;
    for (const { pod, node } of moves) {
      const { namespace, name, workload } = problem.pods[pod]!;
      const nodes = this.#nodes.get(`${namespace}/${workload ?? name}`)!;
      const at = nodes.indexOf(problem.nodes[this.#at[pod]!]!.name);
      if (at >= 0) nodes[at] = problem.nodes[node]!.name;
      this.#at[pod] = node;
      if (obstacle === null) this.#target[pod] = node;
    }
  }

  #errorOf({ moves, gain }: Pick<Proposal, "gain" | "moves">): number {
    const after = this.#at.slice();
    for (const { pod, node } of moves) after[pod] = node;
    return gainNoise(this.#input.model, this.#at, after) + RATE_NOISE * Math.abs(gain);
  }
}
