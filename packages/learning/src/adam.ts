import type { Parameter } from "./dense-net.ts";

interface AdamOptions {
  readonly learningRate: number;
  readonly maxNorm: number;
}

const BETA1 = 0.9;
const BETA2 = 0.999;
const EPSILON = 1e-8;

export class Adam {
  readonly #parameters: readonly Parameter[];
  readonly #options: AdamOptions;
  readonly #means: readonly Float32Array[];
  readonly #squares: readonly Float32Array[];
  #steps = 0;

  constructor(parameters: readonly Parameter[], options: AdamOptions) {
    this.#parameters = parameters;
    this.#options = options;
    this.#means = parameters.map(({ values }) => new Float32Array(values.length));
    this.#squares = parameters.map(({ values }) => new Float32Array(values.length));
  }

  /** Applies and resets the gradients. A non-finite gradient changes nothing. */
  step(): void {
    const { learningRate, maxNorm } = this.#options;
    const norm = Math.sqrt(this.#parameters.reduce((sum, { gradient }) => sum + squared(gradient), 0));
    if (Number.isFinite(norm)) {
      this.#steps++;
      const scale = norm > maxNorm ? maxNorm / norm : 1;
      const rate = learningRate / (1 - BETA1 ** this.#steps);
      const correction = 1 - BETA2 ** this.#steps;
      for (const [at, { values, gradient }] of this.#parameters.entries())
        update(values, gradient, this.#means[at]!, this.#squares[at]!, { scale, rate, correction });
    }
    for (const { gradient } of this.#parameters) gradient.fill(0);
  }

  /** State for resuming training, besides the parameters: moments in parameter order. */
  state(): { readonly steps: number; readonly moments: readonly Float32Array[] } {
    return { steps: this.#steps, moments: [...this.#means, ...this.#squares] };
  }

  restore({ steps, moments }: ReturnType<Adam["state"]>): void {
    this.#steps = steps;
    for (const [at, moment] of [...this.#means, ...this.#squares].entries()) moment.set(moments[at]!);
  }
}

function squared(values: Float32Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return sum;
}

function update(
  values: Float32Array,
  gradient: Float32Array,
  means: Float32Array,
  squares: Float32Array,
  { scale, rate, correction }: Readonly<Record<"scale" | "rate" | "correction", number>>,
): void {
  for (let at = 0; at < values.length; at++) {
    const slope = gradient[at]! * scale;
    means[at] = BETA1 * means[at]! + (1 - BETA1) * slope;
    squares[at] = BETA2 * squares[at]! + (1 - BETA2) * slope * slope;
    values[at]! -= (rate * means[at]!) / (Math.sqrt(squares[at]! / correction) + EPSILON);
  }
}
