// Trains an EndpointPolicy: each decision is credited with its own request's outcome and used in several
// clipped passes, as in the improved cMMAC.
import { Adam, constant, DenseNet, Tape } from "@isochrone/learning";
import type { Draw } from "@isochrone/primitives";
import type { Ask, Candidate } from "../endpoints/choose.ts";
import { matrix, normalize, shuffled } from "../steps.ts";
import { FEATURES, featuresOf, probabilitiesOf, sampled, type EndpointPolicy } from "./endpoint-policy.ts";

const CRITIC = [32, 16];
const LEARNING_RATE = 5e-4;
const MAX_NORM = 5;
const PASSES = 3;
const BATCH = 256;
const CLIP = 0.2;
const ENTROPY = 0.003;
/** Index of the slack feature, by which the critic picks the best endpoint. */
const SLACK = 4;

interface Step {
  readonly rows: Float32Array;
  readonly action: number;
  readonly probability: number;
  readonly before: Float32Array;
  reward: number;
  advantage: number;
}

export class EndpointTraining {
  readonly #policy: EndpointPolicy;
  readonly #critic: DenseNet;
  readonly #actorAdam: Adam;
  readonly #criticAdam: Adam;
  #steps: Step[] = [];

  constructor(policy: EndpointPolicy, seed: number, learningRate = LEARNING_RATE) {
    this.#policy = policy;
    this.#critic = new DenseNet({ sizes: [2 * FEATURES, ...CRITIC, 1], seed });
    const options = { learningRate, maxNorm: MAX_NORM };
    this.#actorAdam = new Adam(policy.net.parameters(), options);
    this.#criticAdam = new Adam(this.#critic.parameters(), options);
  }

  /** @returns the endpoint, and a callback for the outcome: 1 in time, 0 late, minus a price */
  choose(
    candidates: readonly Candidate[],
    ask: Ask,
    draw: Draw,
  ): { readonly action: number; readonly settle: (reward: number) => void } {
    const rows = featuresOf(candidates, ask);
    const probabilities = probabilitiesOf(this.#policy.net.outputs(rows, candidates.length))!;
    const action = sampled(probabilities, draw);
    const probability = probabilities[action]!;
    const step: Step = { rows, action, probability, before: seenByCritic(rows), reward: 0, advantage: 0 };
    this.#steps.push(step);
    return { action, settle: (reward) => (step.reward = reward) };
  }

  learn(draw: Draw): number {
    const steps = this.#steps;
    this.#steps = [];
    const values = this.#critic.outputs(matrix(steps.map(({ before }) => before)), steps.length);
    for (const [at, step] of steps.entries()) step.advantage = step.reward - values[at]!;
    normalize(steps);
    for (let pass = 0; pass < PASSES; pass++) {
      const order = shuffled(steps, draw);
      for (let from = 0; from + BATCH <= order.length; from += BATCH) {
        const part = order.slice(from, from + BATCH);
        this.#updateCritic(part);
        this.#updateActor(part);
      }
    }
    return steps.length;
  }

  #updateCritic(steps: readonly Step[]): void {
    const tape = new Tape();
    const x = constant(steps.length, 2 * FEATURES, matrix(steps.map(({ before }) => before)));
    const v = this.#critic.through(tape, x);
    for (const [at, { reward }] of steps.entries())
      v.gradient[at] = (2 * (v.values[at]! - reward)) / steps.length;
    tape.backward();
    this.#criticAdam.step();
  }

  /** (6) ∇J = ∇ log π(a | s) A, plus entropy */
  #updateActor(steps: readonly Step[]): void {
    const tape = new Tape();
    const counts = steps.map(({ rows }) => rows.length / FEATURES);
    const total = counts.reduce((sum, count) => sum + count, 0);
    const out = this.#policy.net.through(
      tape,
      constant(total, FEATURES, matrix(steps.map(({ rows }) => rows))),
    );
    let from = 0;
    for (const [at, step] of steps.entries()) {
      const to = from + counts[at]!;
      const now = probabilitiesOf(out.values.subarray(from, to))!;
      out.gradient.set(
        gradientOf(step, now).map((slope) => slope / steps.length),
        from,
      );
      from = to;
    }
    tape.backward();
    this.#actorAdam.step();
  }
}

/** Gradient of -A log π(a) (clipped as in PPO) and of -entropy with respect to scores. */
function gradientOf({ action, advantage, probability }: Step, now: Float64Array): Float64Array {
  const ratio = now[action]! / probability;
  const isFarEnough = advantage > 0 ? ratio > 1 + CLIP : ratio < 1 - CLIP;
  const weight = isFarEnough ? 0 : advantage * ratio;
  let spread = 0;
  for (const p of now) if (p > 0) spread -= p * Math.log(p);
  return now.map((p, at) => {
    const slope = -weight * ((at === action ? 1 : 0) - p);
    return p > 0 ? slope + ENTROPY * p * (Math.log(p) + spread) : slope;
  });
}

function seenByCritic(rows: Float32Array): Float32Array {
  const seen = new Float32Array(2 * FEATURES);
  const count = rows.length / FEATURES;
  let best = 0;
  for (let at = 0; at < rows.length; at += FEATURES) {
    for (let of = 0; of < FEATURES; of++) seen[of]! += rows[at + of]! / count;
    if (rows[at + SLACK]! > rows[best + SLACK]!) best = at;
  }
  seen.set(rows.subarray(best, best + FEATURES), FEATURES);
  return seen;
}
