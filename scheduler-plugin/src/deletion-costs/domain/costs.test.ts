import { seeded } from "@isochrone/primitives";
import { expect, test } from "vitest";
import { newCosts } from "./costs.ts";

const fresh = (...losses: readonly number[]) => losses.map((loss) => ({ loss, cost: 0 }));

test("the pod whose loss costs least goes first, the one that is missed most has no cost", () => {
  expect(newCosts(fresh(5e4, 1e4, 3e4))).toEqual([0, -99, -49]);
});

test("without a difference nobody has a cost, and those that had one lose it", () => {
  expect(newCosts(fresh(5e4, 5e4 + 900))).toBeNull();
  expect(
    newCosts([
      { loss: 5e4, cost: -99 },
      { loss: 5e4, cost: 0 },
    ]),
  ).toEqual([0, 0]);
});

test("an order stays while it is wrong by a tenth of the largest difference at most", () => {
  const before = (last: number) => [
    { loss: 1e4, cost: -99 },
    { loss: last, cost: -49 },
    { loss: 5e4, cost: 0 },
  ];
  expect(newCosts(before(9e3))).toBeNull();
  expect(newCosts(before(4e4))).toBeNull();
  expect(newCosts(before(1e3))).toEqual([-81, -99, 0]);
});

test("a new pod that is missed less than others gets a cost, one that is missed most doesn't", () => {
  const there = [
    { loss: 1e4, cost: -99 },
    { loss: 5e4, cost: -1 },
  ];
  expect(newCosts([...there, { loss: 6e4, cost: 0 }])).toBeNull();
  expect(newCosts([...there, { loss: 2e4, cost: 0 }])).not.toBeNull();
});

test("what is written is in order, and isn't written again", () => {
  const draw = seeded(3);
  for (let round = 0; round < 300; round++) {
    const pods = Array.from({ length: 2 + Math.floor(draw() * 12) }, () => ({
      loss: Math.round(1e6 * draw() ** 3),
      cost: -Math.floor(100 * draw()),
    }));
    const costs = newCosts(pods) ?? pods.map(({ cost }) => cost);
    const range = Math.max(...pods.map(({ loss }) => loss)) - Math.min(...pods.map(({ loss }) => loss));
    const wrong = pods.flatMap(({ loss }, a) =>
      pods.filter((other, b) => costs[a]! < costs[b]! && loss > other.loss + Math.max(1_000, 0.1 * range)),
    );
    expect(wrong).toEqual([]);
    expect(costs.every((cost) => Number.isInteger(cost) && cost >= -99 && cost <= 0)).toBe(true);
    expect(newCosts(pods.map((pod, at) => ({ ...pod, cost: costs[at]! })))).toBeNull();
  }
});
