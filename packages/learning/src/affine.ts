// The two hot loops: x W + b, and its gradients. Zeros are skipped: half of the values after a ReLU are zero,
// and states are partly one-hot. Summation order is fixed, so that equal input gives equal bits.
import type { Tensor } from "./tensor.ts";

/** Weights of a layer: one row per input, one column per output. */
export interface Layer {
  readonly inputs: number;
  readonly outputs: number;
  readonly weights: Float32Array;
  readonly bias: Float32Array;
  readonly weightsGradient: Float32Array;
  readonly biasGradient: Float32Array;
}

/** Adds the rows `at` of `table`, scaled, to one row of `out`, four at a time. */
function addRows(
  out: Float32Array,
  outAt: number,
  width: number,
  table: Float32Array,
  at: Int32Array,
  factors: Float64Array,
  count: number,
): void {
  let k = 0;
  for (; k + 4 <= count; k += 4) {
    const [f0, f1, f2, f3] = [factors[k]!, factors[k + 1]!, factors[k + 2]!, factors[k + 3]!];
    const [a0, a1, a2, a3] = [at[k]!, at[k + 1]!, at[k + 2]!, at[k + 3]!];
    for (let o = 0; o < width; o++)
      out[outAt + o]! +=
        f0 * table[a0 + o]! + f1 * table[a1 + o]! + f2 * table[a2 + o]! + f3 * table[a3 + o]!;
  }
  for (; k < count; k++) {
    const factor = factors[k]!;
    const a = at[k]!;
    for (let o = 0; o < width; o++) out[outAt + o]! += factor * table[a + o]!;
  }
}

export function affine(x: Tensor, layer: Layer, y: Tensor): void {
  const { inputs, outputs, weights, bias } = layer;
  const at = new Int32Array(inputs);
  const factors = new Float64Array(inputs);
  for (let row = 0; row < x.rows; row++) {
    let count = 0;
    for (let i = 0; i < inputs; i++) {
      const value = x.values[row * inputs + i]!;
      if (value === 0) continue;
      at[count] = i * outputs;
      factors[count++] = value;
    }
    y.values.set(bias, row * outputs);
    addRows(y.values, row * outputs, outputs, weights, at, factors, count);
  }
}

/** Adds the gradients of weights, bias and, if wanted, x. */
export function affineGradients(x: Tensor, layer: Layer, y: Tensor): void {
  addBiasGradient(layer, y);
  addWeightsGradient(x, layer, y);
  if (x.isTrained) addInputGradient(x, layer, y);
}

function addBiasGradient({ outputs, biasGradient }: Layer, { rows, gradient }: Tensor): void {
  for (let row = 0; row < rows; row++)
    for (let o = 0; o < outputs; o++) biasGradient[o]! += gradient[row * outputs + o]!;
}

function addWeightsGradient(x: Tensor, { inputs, outputs, weightsGradient }: Layer, y: Tensor): void {
  const at = new Int32Array(x.rows);
  const factors = new Float64Array(x.rows);
  for (let i = 0; i < inputs; i++) {
    let count = 0;
    for (let row = 0; row < x.rows; row++) {
      const value = x.values[row * inputs + i]!;
      if (value === 0) continue;
      at[count] = row * outputs;
      factors[count++] = value;
    }
    addRows(weightsGradient, i * outputs, outputs, y.gradient, at, factors, count);
  }
}

function addInputGradient(x: Tensor, { inputs, outputs, weights }: Layer, y: Tensor): void {
  for (let row = 0; row < x.rows; row++) {
    const from = row * outputs;
    for (let i = 0; i < inputs; i++) {
      if (x.isRectified && x.values[row * inputs + i] === 0) continue;
      const w = i * outputs;
      let sum = 0;
      for (let o = 0; o < outputs; o++) sum += y.gradient[from + o]! * weights[w + o]!;
      x.gradient[row * inputs + i]! += sum;
    }
  }
}
