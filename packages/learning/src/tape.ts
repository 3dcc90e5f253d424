import { affine, affineGradients, type Layer } from "./affine.ts";
import { tensor, type Tensor } from "./tensor.ts";

export type Activation = "none" | "relu" | "leaky-relu";

const LEAK = 0.05;

/**
 * Records matrix operations for backpropagation. A tape serves one pass: set the output's gradient, then call
 * `backward`.
 */
export class Tape {
  readonly #back: (() => void)[] = [];

  dense(x: Tensor, layer: Layer, activation: Activation): Tensor {
    if (x.columns !== layer.inputs)
      throw new RangeError(`input of a layer must have ${layer.inputs} columns, got ${x.columns}`);
    const y = tensor(x.rows, layer.outputs, activation === "relu");
    affine(x, layer, y);
    const slope = SLOPES[activation];
    activate(y.values, activation);
    this.#back.push(() => {
      if (slope !== 1)
        // After a ReLU, 0 means a negative input; a leaky one keeps signs.
        for (let at = 0; at < y.values.length; at++)
          if (y.values[at]! < 0 || (slope === 0 && y.values[at] === 0)) y.gradient[at]! *= slope;
      affineGradients(x, layer, y);
    });
    return y;
  }

  add(a: Tensor, b: Tensor): Tensor {
    const sum = tensor(a.rows, a.columns);
    for (let at = 0; at < sum.values.length; at++) sum.values[at] = a.values[at]! + b.values[at]!;
    this.#back.push(() => {
      for (const part of [a, b])
        if (part.isTrained)
          for (let at = 0; at < sum.values.length; at++) part.gradient[at]! += sum.gradient[at]!;
    });
    return sum;
  }

  sumOfRows(rows: readonly Tensor[], factor: number): Tensor {
    const sum = tensor(1, rows[0]!.columns);
    for (const { values } of rows)
      for (let at = 0; at < values.length; at++) sum.values[at]! += values[at]! * factor;
    this.#back.push(() => {
      for (const { gradient, isTrained } of rows)
        if (isTrained)
          for (let at = 0; at < sum.values.length; at++) gradient[at]! += sum.gradient[at]! * factor;
    });
    return sum;
  }

  /** Concatenates single rows: one output row per list. */
  join(rows: readonly (readonly Tensor[])[]): Tensor {
    const columns = rows[0]!.reduce((sum, part) => sum + part.columns, 0);
    const joined = tensor(rows.length, columns);
    const places = rows.flatMap((parts, row) => {
      let from = row * columns;
      return parts.map((part) => {
        joined.values.set(part.values, from);
        from += part.columns;
        return { part, from: from - part.columns };
      });
    });
    this.#back.push(() => {
      for (const { part, from } of places)
        if (part.isTrained)
          for (let at = 0; at < part.columns; at++) part.gradient[at]! += joined.gradient[from + at]!;
    });
    return joined;
  }

  backward(): void {
    for (let at = this.#back.length - 1; at >= 0; at--) this.#back[at]!();
  }
}

const SLOPES: Readonly<Record<Activation, number>> = { none: 1, relu: 0, "leaky-relu": LEAK };

export function activate(values: Float32Array, activation: Activation): void {
  const slope = SLOPES[activation];
  if (slope === 1) return;
  for (let at = 0; at < values.length; at++) if (values[at]! < 0) values[at]! *= slope;
}
