import type { Draw } from "@isochrone/primitives";
import { Adam, constant, DenseNet, Tape, type NamedArray } from "@isochrone/learning";
import type { DispatchRequest, DispatchView } from "../dispatcher.ts";
import { imbalance, type SystemState } from "../system.ts";
import { scoresOf, total, type Cmmac, type Decision } from "./cmmac.ts";
import { globalSize, observeGlobally, type Shape } from "./observation.ts";
import { matrix, normalize, shuffled } from "../steps.ts";
import type { CmmacOptions } from "./options.ts";

const CRITIC = [256, 128, 64, 32];
const MAX_NORM = 5;
const CLIP = 0.2;
/** ReLU has no gradient for outputs below 0; a small one lets them recover. */
const COME_BACK = 0.1;

interface Step extends Decision {
  readonly slot: number;
  readonly before: Float32Array;
  after: Float32Array;
  advantage: number;
  target: number;
}

interface TrainingDeps {
  readonly policy: Cmmac;
  readonly shape: Shape;
  readonly options: CmmacOptions;
  readonly seed: number;
}

/** One trainer for all access points: line 18 of Algorithm 1. */
export class CmmacTraining {
  readonly critic: DenseNet;
  readonly #target: DenseNet;
  readonly #actorAdam: Adam;
  readonly #criticAdam: Adam;
  readonly #deps: TrainingDeps;
  #steps: Step[] = [];
  #rewards: number[] = [];
  readonly #outcomes = new Map<number, number>();
  #slot = 0;

  constructor(deps: TrainingDeps) {
    const { policy, shape, options, seed } = deps;
    const inputs = options.critic === "global" ? globalSize(shape) : policy.actor.sizes[0]!;
    const sizes = [inputs, ...CRITIC, 1];
    this.critic = new DenseNet({ sizes, seed });
    this.#target = new DenseNet({ sizes, seed });
    const adam = { learningRate: options.learningRate, maxNorm: MAX_NORM };
    this.#actorAdam = new Adam(policy.actor.parameters(), adam);
    this.#criticAdam = new Adam(this.critic.parameters(), adam);
    this.#deps = deps;
  }

  decided(decision: Decision, { state }: DispatchView): void {
    const before = this.#observe(decision.request, decision.request.site, state, decision.observation);
    this.#steps.push({ ...decision, slot: this.#slot, before, after: before, advantage: 0, target: 0 });
  }

  settled(request: number, isInTime: boolean): void {
    this.#outcomes.set(request, isInTime ? 1 : 0);
  }

  /**
   * Reward u = exp(-λ - ε ν) with ν = 1 / (1 + exp(-ξ)), and the state after the slot.
   * @param failed share of the slot's late requests, λ
   * @param waiting next request of each site
   */
  slotEnded(state: SystemState, failed: number, waiting: (site: number) => DispatchRequest | null): void {
    const nu = 1 / (1 + Math.exp(-imbalance(state)));
    this.#rewards[this.#slot] = Math.exp(-failed - this.#deps.options.epsilon * nu);
    for (let at = this.#steps.length - 1; at >= 0 && this.#steps[at]!.slot === this.#slot; at--) {
      const step = this.#steps[at]!;
      const { site } = step.request;
      step.after = this.#observe(waiting(site), site, state, step.observation);
    }
    this.#slot++;
  }

  learn(draw: Draw): number {
    const { options } = this.#deps;
    const steps = this.#steps;
    this.#credit(steps);
    if (options.hasNormalizedAdvantages) normalize(steps);
    for (let pass = 0; pass < options.passes; pass++) {
      const order = shuffled(steps, draw);
      for (let from = 0; from + options.batch <= order.length; from += options.batch) {
        const part = order.slice(from, from + options.batch);
        this.#updateCritic(part);
        this.#updateActor(part);
      }
    }
    this.#target.copyFrom(this.critic);
    this.#steps = [];
    this.#rewards = [];
    this.#outcomes.clear();
    this.#slot = 0;
    return steps.length;
  }

  /** State to resume training: the critic and both optimizers' moments. */
  arrays(): NamedArray[] {
    const net = this.critic
      .parameters()
      .map(({ shape, values }, at) => ({ name: `critic.${at}`, shape, values }));
    const moments = (name: string, adam: Adam): NamedArray[] =>
      adam.state().moments.map((values, at) => ({ name: `${name}.${at}`, shape: [values.length], values }));
    return [...net, ...moments("adam-actor", this.#actorAdam), ...moments("adam-critic", this.#criticAdam)];
  }

  stepsTaken(): { readonly actor: number; readonly critic: number } {
    return { actor: this.#actorAdam.state().steps, critic: this.#criticAdam.state().steps };
  }

  resume(taken: { readonly actor: number; readonly critic: number }): void {
    this.#actorAdam.restore({ ...this.#actorAdam.state(), steps: taken.actor });
    this.#criticAdam.restore({ ...this.#criticAdam.state(), steps: taken.critic });
    this.#target.copyFrom(this.critic);
  }

  #observe(
    request: DispatchRequest | null,
    site: number,
    state: SystemState,
    local: Float32Array,
  ): Float32Array {
    const { options, shape } = this.#deps;
    return options.critic === "global" ? observeGlobally(request, site, state, shape) : local;
  }

  /** (3) V* = u + γ V'(s_t+1); (7) A = V* - V(s_t) */
  #credit(steps: readonly Step[]): void {
    const { credit, gamma, reward } = this.#deps.options;
    const values = this.#values(this.critic, steps, "before");
    const next = credit === "own" ? null : this.#values(this.#target, steps, "after");
    for (const [at, step] of steps.entries()) {
      const slot = reward === "this-slot" ? step.slot : step.slot + 1;
      step.target =
        next === null
          ? (this.#outcomes.get(step.request.id) ?? 0)
          : (this.#rewards[slot] ?? 0) + gamma * next[at]!;
      step.advantage = step.target - values[at]!;
    }
  }

  #values(net: DenseNet, steps: readonly Step[], which: "before" | "after"): Float32Array {
    const values = new Float32Array(steps.length);
    const { batch } = this.#deps.options;
    for (let from = 0; from < steps.length; from += batch) {
      const part = steps.slice(from, from + batch);
      values.set(net.outputs(matrix(part.map((step) => step[which])), part.length), from);
    }
    return values;
  }

  /** (2) L = (V(s) - V*)² */
  #updateCritic(steps: readonly Step[]): void {
    const tape = new Tape();
    const x = constant(steps.length, this.critic.sizes[0]!, matrix(steps.map(({ before }) => before)));
    const v = this.critic.through(tape, x);
    for (const [at, { target }] of steps.entries())
      v.gradient[at] = (2 * (v.values[at]! - target)) / steps.length;
    tape.backward();
    this.#criticAdam.step();
  }

  /** (6) ∇J = ∇ log π(a | s) A, plus entropy */
  #updateActor(steps: readonly Step[]): void {
    const { actor } = this.#deps.policy;
    const tape = new Tape();
    const rows = matrix(steps.map(({ observation }) => observation));
    const out = actor.through(tape, constant(steps.length, actor.sizes[0]!, rows));
    for (const [at, step] of steps.entries())
      this.#addGradient(step, out.values, out.gradient, at, steps.length);
    tape.backward();
    this.#actorAdam.step();
  }

  #addGradient(step: Step, values: Float32Array, gradient: Float32Array, row: number, rows: number): void {
    const { passes, entropy } = this.#deps.options;
    const from = row * step.mask.length;
    const scores = scoresOf(values, from, step.mask);
    const sum = total(scores);
    const advantage = passes === 1 ? step.advantage : clipped(step, scores[step.action]! / sum);
    let spread = 0;
    if (entropy > 0)
      for (const score of scores) if (score > 0) spread -= (score / sum) * Math.log(score / sum);
    for (const [at, score] of scores.entries()) {
      if (score === 0) continue;
      // Gradient of -A log π(a) and of -entropy: d log π / d score = [j = a] / score - 1 / sum.
      let slope = -advantage * ((at === step.action ? 1 / score : 0) - 1 / sum);
      if (entropy > 0) slope += (entropy * (Math.log(score / sum) + spread)) / sum;
      if (values[from + at]! <= 0) slope = slope > 0 ? 0 : slope * COME_BACK;
      gradient[from + at] = slope / rows;
    }
  }
}

/** Advantage times the probability ratio; 0 beyond the clip range (PPO). */
function clipped({ advantage, probability }: Step, now: number): number {
  const ratio = now / probability;
  const isFarEnough = advantage > 0 ? ratio > 1 + CLIP : ratio < 1 - CLIP;
  return isFarEnough ? 0 : advantage * ratio;
}
