// Trains GPG by (10): policy gradient of each frame's return against the mean over episodes.
import { Adam, type NamedArray } from "@isochrone/learning";
import type { Gpg, GpgDecision } from "./gpg.ts";
import type { GpgOptions } from "./options.ts";

const MAX_NORM = 5;
const TINY = 1e-12;

export class GpgTraining {
  readonly #policy: Gpg;
  readonly #options: GpgOptions;
  readonly #adam: Adam;
  readonly #decisions: { readonly decision: GpgDecision; reward: number }[] = [];
  /** μ of (10): sums of returns by frame of the episode, and their number. */
  readonly #returns: number[] = [];
  readonly #episodes: number[] = [];

  constructor(policy: Gpg) {
    const { options } = policy;
    this.#policy = policy;
    this.#options = options;
    this.#adam = new Adam(policy.parameters(), { learningRate: options.learningRate, maxNorm: MAX_NORM });
  }

  decided(decision: GpgDecision): void {
    this.#decisions.push({ decision, reward: 0 });
  }

  /**
   * @param queues lengths of the nodes' queues at the frame's end
   * @param inTime share of the frame's requests
   */
  frameEnded(queues: readonly number[], inTime: number): void {
    const last = this.#decisions.at(-1);
    if (last === undefined) return;
    const sum = queues.reduce((total, length) => total + length, 0);
    if (this.#options.reward === "in-time") last.reward = inTime;
    else last.reward = Math.exp(this.#options.reward === "sum-of-queues" ? -sum : -sum / queues.length);
  }

  learn(): number {
    const steps = this.#decisions.splice(0);
    const advantages = this.#advantages(steps.map(({ reward }) => reward));
    for (const [at, { decision }] of steps.entries())
      this.#addGradients(decision, advantages[at]! / steps.length, 1 / steps.length);
    if (steps.length > 0) this.#adam.step();
    return steps.length;
  }

  arrays(): NamedArray[] {
    const { moments } = this.#adam.state();
    return moments.map((values, at) => ({ name: `adam-gpg.${at}`, shape: [values.length], values }));
  }

  memory(): {
    readonly steps: number;
    readonly returns: readonly number[];
    readonly episodes: readonly number[];
  } {
    return { steps: this.#adam.state().steps, returns: [...this.#returns], episodes: [...this.#episodes] };
  }

  resume({ steps, returns, episodes }: ReturnType<GpgTraining["memory"]>): void {
    this.#adam.restore({ ...this.#adam.state(), steps });
    this.#returns.splice(0, Number.POSITIVE_INFINITY, ...returns);
    this.#episodes.splice(0, Number.POSITIVE_INFINITY, ...episodes);
  }

  #advantages(rewards: readonly number[]): number[] {
    const returns = [...rewards];
    for (let at = returns.length - 2; at >= 0; at--) returns[at]! += this.#options.gamma * returns[at + 1]!;
    const differences = returns.map((value, at) => {
      const seen = this.#episodes[at] ?? 0;
      const difference = seen === 0 ? 0 : value - this.#returns[at]! / seen;
      this.#returns[at] = (this.#returns[at] ?? 0) + value;
      this.#episodes[at] = seen + 1;
      return difference;
    });
    const square = differences.reduce((sum, value) => sum + value * value, 0) / differences.length;
    return differences.map((value) => value / (Math.sqrt(square) + 1e-6));
  }

  /** Gradient of -advantage log π and of -entropy; nodes are drawn without replacement. */
  #addGradients(decision: GpgDecision, advantage: number, weight: number): void {
    const { tape, nodes, actions } = this.#policy.again(decision);
    const { entropy } = this.#options;
    const open = new Set(nodes.probabilities.keys());
    for (const drawn of decision.nodes) {
      let sum = 0;
      for (const node of open) sum += nodes.probabilities[node]!;
      for (const node of open)
        nodes.outputs.gradient[node]! -=
          advantage * ((node === drawn ? 1 : 0) - nodes.probabilities[node]! / sum);
      open.delete(drawn);
    }
    addEntropy(nodes, entropy * weight);
    for (const [at, action] of actions.entries()) {
      const { gradient } = action.outputs;
      for (const [l, probability] of action.probabilities.entries())
        gradient[l]! -= advantage * ((l === decision.actions[at] ? 1 : 0) - probability);
      addEntropy(action, entropy * weight);
    }
    tape.backward();
  }
}

function addEntropy(
  {
    outputs,
    probabilities,
  }: { readonly outputs: { readonly gradient: Float32Array }; readonly probabilities: Float64Array },
  weight: number,
): void {
  let spread = 0;
  for (const probability of probabilities) spread -= probability * Math.log(probability + TINY);
  for (const [at, probability] of probabilities.entries())
    outputs.gradient[at]! += weight * probability * (Math.log(probability + TINY) + spread);
}
