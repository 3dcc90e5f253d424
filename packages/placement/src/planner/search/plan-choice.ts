// Which plan of pods that run is shown, and in which order its moves are made. A plan is a proposal to
// people: it is worth little when it is another one every minute, or when most of its moves bring nothing.
import { gainNoise } from "./gain-noise.ts";
import { objectiveOf } from "../objective/objective.ts";
import type { CostModel } from "../objective/objective.ts";
import { PlanState } from "./plan-state.ts";

/**
 * Rates are those of a window, mostly of some hundred requests: costs vary by this share from one window to
 * the next.
 */
const RATE_NOISE = 0.05;

/** One move of a plan. */
interface OrderedMove {
  readonly pod: number;
  readonly node: number;
  /** What the plan would cost more without this move, bytes/s x ms. */
  readonly gain: number;
  /** Why it can't be made once those before it are made; null: it can. */
  readonly obstacle: string | null;
}

interface PlanChoice {
  /** Node by pod: where each pod runs, but for those that are to move. */
  readonly target: Int32Array;
  readonly moves: readonly OrderedMove[];
}

/**
 * Keeps the previous plan unless the one that was found is better by more than the noise of both, and stays
 * put unless a plan is better than that by as much. Pods MUST run somewhere, all of them.
 *
 * @param found the newest search's; null: it found none
 * @param previous what was shown before; null: nothing, or it can't be any more
 */
export function choosePlan(
  model: CostModel,
  found: Int32Array | null,
  previous: Int32Array | null,
): PlanChoice {
  const choice = new Choice(model);
  return choice.of(found, previous);
}

class Choice {
  readonly #model: CostModel;
  readonly #current: Int32Array;
  readonly #total: (assignment: Int32Array) => number;

  constructor(model: CostModel) {
    this.#model = model;
    this.#current = Int32Array.from(model.problem.pods, ({ current }) => current);
    const objective = objectiveOf(model);
    this.#total = (assignment) => objective.total(assignment).total;
  }

  of(found: Int32Array | null, previous: Int32Array | null): PlanChoice {
    let target = this.#current;
    if (previous !== null && this.#isAllowed(previous) && this.#total(previous) < this.#total(target))
      target = previous;
    const best = found === null ? null : this.#pruned(found);
    if (best !== null && this.#total(target) - this.#total(best) > this.#noise(target, best)) target = best;
    return { target, moves: this.#inOrder(target) };
  }

  /**
   * Rates scale all costs: of two plans that both save nearly all, hardly any difference is left to be wrong.
   */
  #noise(a: Int32Array, b: Int32Array): number {
    return gainNoise(this.#model, a, b) + RATE_NOISE * Math.max(this.#total(a), this.#total(b));
  }

  /** Without the moves that bring less than what they may be wrong by. */
  #pruned(found: Int32Array): Int32Array {
    let best = found;
    for (;;) {
      const moved = this.#movedIn(best);
      const without = moved
        .map((pod) => best.with(pod, this.#current[pod]!))
        .map((assignment) => ({ assignment, lost: this.#total(assignment) - this.#total(best) }))
        .filter(({ assignment, lost }) => lost <= gainNoise(this.#model, assignment, best))
        .sort((a, b) => a.lost - b.lost)
        .find(({ assignment }) => this.#isAllowed(assignment));
      if (without === undefined) return best;
      best = without.assignment;
    }
  }

  #movedIn(assignment: Int32Array): number[] {
    return [...assignment.keys()].filter((pod) => assignment[pod] !== this.#current[pod]);
  }

  #isAllowed(assignment: Int32Array): boolean {
    const state = new PlanState(this.#model);
    for (const [pod, node] of assignment.entries()) {
      // Where a pod runs it may go on running, whatever its rules say now.
      const isMove = node !== this.#current[pod];
      if (isMove && !state.isOpen(pod, node)) return false;
      state.place(pod, node);
    }
    return state.holds() || this.#isBroken;
  }

  /** Rules that don't hold as things are can't be held to. */
  get #isBroken(): boolean {
    const state = new PlanState(this.#model);
    for (const [pod, node] of this.#current.entries()) state.place(pod, node);
    return !state.holds();
  }

  /** Those that bring most first, as far as each finds room when those before it have gone. */
  #inOrder(target: Int32Array): OrderedMove[] {
    const state = new PlanState(this.#model);
    for (const [pod, node] of this.#current.entries()) state.place(pod, node);
    const left = this.#movedIn(target)
      .map((pod) => {
        const without = target.with(pod, this.#current[pod]!);
        return { pod, node: target[pod]!, gain: this.#total(without) - this.#total(target) };
      })
      .sort((a, b) => b.gain - a.gain || a.pod - b.pod);
    const order: OrderedMove[] = [];
    while (left.length > 0) {
      const at = left.findIndex(({ pod, node }) => obstacleOf(state, pod, node) === null);
      const [move] = left.splice(Math.max(0, at), 1);
      const obstacle = at < 0 ? obstacleOf(state, move!.pod, move!.node) : null;
      order.push({ ...move!, obstacle });
      if (obstacle === null) state.move(move!.pod, move!.node);
    }
    return order;
  }
}

/** In words; null: the pod may go there as things are. */
function obstacleOf(state: PlanState, pod: number, node: number): string | null {
  const from = state.unplace(pod);
  const { nodes, pods, resources } = state.problem;
  const { name } = nodes[node]!;
  const short = state.shortage(pod, node);
  const broken = state.rulesOf(pod).find((rule) => !rule.admits(pod, node, false));
  state.place(pod, from);
  if (pods[pod]!.allowed?.[node] === 0) return `${name} doesn't admit it`;
  if (short >= 0) return `${name} has too little ${resources[short]} until other pods have left it`;
  return broken === undefined ? null : `on ${name} it would break ${broken.name}`;
}
