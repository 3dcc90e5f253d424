import { seeded } from "@isochrone/primitives";
import { describe, expect, it } from "vitest";
import { Adam } from "./adam.ts";
import { DenseNet, type Parameter } from "./dense-net.ts";
import { Tape } from "./tape.ts";
import { constant, tensor, type Tensor } from "./tensor.ts";

const STEP = 2e-3;

/**
 * Compares gradients with central differences at up to 40 values per parameter.
 * @param forward builds the output on a tape; the loss is its sum with fixed factors
 */
function expectGradients(parameters: readonly Parameter[], forward: (tape: Tape) => Tensor): void {
  const factors = (length: number): Float32Array =>
    Float32Array.from({ length }, (_, at) => Math.cos(at + 1));
  const loss = (): number => {
    const { values } = forward(new Tape());
    const by = factors(values.length);
    return values.reduce((sum, value, at) => sum + value * by[at]!, 0);
  };
  const tape = new Tape();
  const output = forward(tape);
  output.gradient.set(factors(output.values.length));
  tape.backward();
  for (const { values, gradient } of parameters) {
    const stride = Math.max(1, Math.floor(values.length / 40));
    for (let at = 0; at < values.length; at += stride) {
      const before = values[at]!;
      values[at] = before + STEP;
      const above = loss();
      values[at] = before - STEP;
      const below = loss();
      values[at] = before;
      expect(gradient[at]!).toBeCloseTo((above - below) / (2 * STEP), 2);
    }
  }
}

function numbers(length: number, seed: number): Float32Array {
  const draw = seeded(seed);
  return Float32Array.from({ length }, () => draw() * 2 - 1);
}

describe("gradients equal finite differences", () => {
  it.each(["none", "relu", "leaky-relu"] as const)(
    "of a net with %s, for a batch with zeros",
    (activation) => {
      const net = new DenseNet({ sizes: [5, 7, 6, 3], seed: 4, activation });
      const x = numbers(20, 8);
      for (const at of [0, 3, 7, 12]) x[at] = 0;
      expectGradients(net.parameters(), (tape) => net.through(tape, constant(4, 5, x)));
    },
  );

  it("of the input that isn't constant", () => {
    const net = new DenseNet({ sizes: [4, 6, 2], seed: 3 });
    const x = { ...tensor(2, 4), values: numbers(8, 5) };
    expectGradients([{ shape: [2, 4], values: x.values, gradient: x.gradient }], (tape) =>
      net.through(tape, x),
    );
  });

  it("of a graph of nets: sums of rows, joined rows, a row used twice", () => {
    const inner = new DenseNet({ sizes: [3, 8, 4], seed: 1, activation: "leaky-relu" });
    const outer = new DenseNet({ sizes: [8, 8, 2], seed: 2, activation: "leaky-relu" });
    const rows = [1, 2, 3].map((seed) => constant(1, 3, numbers(3, seed)));
    expectGradients([...inner.parameters(), ...outer.parameters()], (tape) => {
      const seen = rows.map((row) => inner.through(tape, row));
      const mean = tape.sumOfRows(seen, 1 / 3);
      const twice = tape.add(mean, seen[0]!);
      return outer.through(tape, tape.join(seen.map((one) => [one, twice])));
    });
  });
});

describe("a net", () => {
  it("gives one row as it gives it in a batch, bit by bit", () => {
    const net = new DenseNet({ sizes: [6, 16, 5], seed: 9 });
    const x = numbers(18, 1);
    const batch = net.outputs(x, 3);
    for (const row of [0, 1, 2])
      expect(net.outputs(x.slice(row * 6, row * 6 + 6))).toEqual(batch.slice(row * 5, row * 5 + 5));
  });

  it("refuses impossible sizes and input of another width", () => {
    expect(() => new DenseNet({ sizes: [3, 0], seed: 1 })).toThrow("whole numbers above 0, got 3, 0");
    expect(() => new DenseNet({ sizes: [3, 2], seed: 1 }).outputs(new Float32Array(4))).toThrow(
      "a matrix of 1 x 3 must have as many values, got 4",
    );
    const net = new DenseNet({ sizes: [3, 2], seed: 1 });
    expect(() => net.through(new Tape(), constant(1, 4, new Float32Array(4)))).toThrow(
      "input of a layer must have 3 columns, got 4",
    );
  });
});

function trained(seed: number, steps: number): DenseNet {
  const net = new DenseNet({ sizes: [2, 8, 1], seed });
  const adam = new Adam(net.parameters(), { learningRate: 0.02, maxNorm: 5 });
  for (let step = 0; step < steps; step++) exclusiveOr(net, adam);
  return net;
}

const INPUT = Float32Array.of(0, 0, 0, 1, 1, 0, 1, 1);
const WANTED = [0, 1, 1, 0];

function exclusiveOr(net: DenseNet, adam: Adam): void {
  const tape = new Tape();
  const y = net.through(tape, constant(4, 2, INPUT));
  for (const [at, wanted] of WANTED.entries()) y.gradient[at] = 2 * (y.values[at]! - wanted);
  tape.backward();
  adam.step();
}

describe("training", () => {
  it("learns the exclusive or", () => {
    const outputs = trained(7, 400).outputs(INPUT, 4);
    for (const [at, wanted] of WANTED.entries()) expect(outputs[at]!).toBeCloseTo(wanted, 1);
  });

  it("gives equal weights byte by byte for equal seeds, and others for another seed", () => {
    const bytes = (seed: number): Buffer[] =>
      trained(seed, 50)
        .parameters()
        .map(({ values }) => Buffer.from(values.buffer));
    expect(bytes(5)).toEqual(bytes(5));
    expect(bytes(5)).not.toEqual(bytes(6));
  });

  it("goes on from its state as if it had not stopped", () => {
    const whole = trained(3, 40);
    const half = trained(3, 0);
    const first = new Adam(half.parameters(), { learningRate: 0.02, maxNorm: 5 });
    for (let step = 0; step < 20; step++) exclusiveOr(half, first);
    const second = new Adam(half.parameters(), { learningRate: 0.02, maxNorm: 5 });
    second.restore(first.state());
    for (let step = 0; step < 20; step++) exclusiveOr(half, second);
    expect(half.parameters().map(({ values }) => values)).toEqual(
      whole.parameters().map(({ values }) => values),
    );
  });

  it("steps by the learning rate first, whatever the size of the gradient, and leaves NaN out", () => {
    const parameter = { shape: [2], values: Float32Array.of(1, 1), gradient: Float32Array.of(300, -0.5) };
    const adam = new Adam([parameter], { learningRate: 0.1, maxNorm: 1e9 });
    adam.step();
    expect(parameter.values[0]!).toBeCloseTo(0.9, 5);
    expect(parameter.values[1]!).toBeCloseTo(1.1, 5);
    expect([...parameter.gradient]).toEqual([0, 0]);
    parameter.gradient[0] = Number.NaN;
    adam.step();
    expect(parameter.values[0]!).toBeCloseTo(0.9, 5);
    expect([...parameter.gradient]).toEqual([0, 0]);
  });
});
