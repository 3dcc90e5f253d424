import { seeded } from "@isochrone/primitives";
import { affine, type Layer } from "./affine.ts";
import { activate, type Activation, type Tape } from "./tape.ts";
import { constant, type Tensor } from "./tensor.ts";

interface DenseNetOptions {
  readonly sizes: readonly number[];
  readonly seed: number;
  /** Activation of the hidden layers; the last has none. @default "relu" */
  readonly activation?: Activation;
  /**
   * Factor on the last layer's initial weights: smaller values start a policy closer to uniform.
   * @default 1
   */
  readonly lastScale?: number;
}

export interface Parameter {
  readonly shape: readonly number[];
  readonly values: Float32Array;
  readonly gradient: Float32Array;
}

/** A feed-forward net. Equal seeds give equal weights. */
export class DenseNet {
  readonly sizes: readonly number[];
  readonly #layers: readonly Layer[];
  readonly #activation: Activation;
  readonly #rooms: Float32Array[] = [];

  constructor({ sizes, seed, activation = "relu", lastScale = 1 }: DenseNetOptions) {
    if (sizes.length < 2 || !sizes.every((size) => Number.isInteger(size) && size > 0))
      throw new RangeError(`sizes must be two or more whole numbers above 0, got ${sizes.join(", ")}`);
    const draw = seeded(seed);
    this.sizes = sizes;
    this.#activation = activation;
    this.#layers = sizes.slice(1).map((outputs, at) => {
      const scale = at === sizes.length - 2 ? lastScale : 1;
      return newLayer(sizes[at]!, outputs, scale, draw);
    });
  }

  through(tape: Tape, x: Tensor): Tensor {
    let y = x;
    for (const [at, layer] of this.#layers.entries()) y = tape.dense(y, layer, this.#activationOf(at));
    return y;
  }

  outputs(x: Float32Array, rows = 1): Float32Array {
    let y = constant(rows, this.sizes[0]!, x);
    for (const [at, layer] of this.#layers.entries()) {
      const next = constant(rows, layer.outputs, this.#roomFor(at, rows * layer.outputs));
      affine(y, layer, next);
      activate(next.values, this.#activationOf(at));
      y = next;
    }
    return y.values;
  }

  /** Reuses buffers: each request of a dispatcher would leave garbage. */
  #roomFor(layer: number, size: number): Float32Array {
    if (layer === this.#layers.length - 1) return new Float32Array(size);
    const room = this.#rooms[layer];
    if (room !== undefined && room.length >= size) return room.subarray(0, size);
    return (this.#rooms[layer] = new Float32Array(size));
  }

  #activationOf(layer: number): Activation {
    return layer === this.#layers.length - 1 ? "none" : this.#activation;
  }

  parameters(): readonly Parameter[] {
    return this.#layers.flatMap((layer) => [
      {
        shape: [layer.inputs, layer.outputs],
        values: layer.weights,
        gradient: layer.weightsGradient,
      },
      { shape: [layer.outputs], values: layer.bias, gradient: layer.biasGradient },
    ]);
  }

  /** Copies the weights of a net of equal sizes. */
  copyFrom(other: DenseNet): void {
    const theirs = other.parameters();
    for (const [at, { values }] of this.parameters().entries()) values.set(theirs[at]!.values);
  }
}

/** Uniform initialization by Glorot and Bengio. */
function newLayer(inputs: number, outputs: number, scale: number, draw: () => number): Layer {
  const limit = scale * Math.sqrt(6 / (inputs + outputs));
  return {
    inputs,
    outputs,
    weights: Float32Array.from({ length: inputs * outputs }, () => (draw() * 2 - 1) * limit),
    bias: new Float32Array(outputs),
    weightsGradient: new Float32Array(inputs * outputs),
    biasGradient: new Float32Array(outputs),
  };
}
