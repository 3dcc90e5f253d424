import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { Bench, combinations, type Measurement, type RunProgress } from "./bench.ts";
import { outFolder } from "./testing/conduct-text.ts";

interface Result {
  readonly hash: string;
  readonly value: number;
}

function benchIn(folder: string, signal = new AbortController().signal): [Bench, RunProgress[]] {
  const said: RunProgress[] = [];
  return [new Bench(folder, { signal, onProgress: (progress) => said.push(progress) }), said];
}

const square = (value: number): Measurement<Result> => {
  const hash = `h${value}`;
  return { hash, what: `${value} squared`, weight: value, measure: () => ({ hash, value: value ** 2 }) };
};

test.each([1, 2, 5])("%i at once: results are in order, kept, and measured once", async (jobs) => {
  const folder = outFolder();
  const [bench, said] = benchIn(folder);
  const all = [3, 1, 2].map(square);
  expect((await bench.run("r.jsonl", all, jobs)).map(({ value }) => value)).toEqual([9, 1, 4]);
  expect([bench.measured, said.length]).toEqual([3, 3]);
  const [again] = benchIn(folder);
  const more = [square(4), ...all].toReversed();
  expect((await again.run("r.jsonl", more, jobs)).map(({ value }) => value)).toEqual([4, 1, 9, 16]);
  expect(again.measured).toBe(1);
});

test("progress is of what is missing, by weight", async () => {
  const [bench, said] = benchIn(outFolder());
  await bench.run("r.jsonl", [square(1), square(3)]);
  expect(said).toMatchObject([
    { done: 0, total: 2, share: 0, secondsLeft: null, what: "1 squared" },
    { done: 1, total: 2, share: 0.25, secondsLeft: expect.any(Number), what: "3 squared" },
  ]);
});

test("what can't be measured has no result, and is tried again the next time", async () => {
  const folder = outFolder();
  let tried = 0;
  const measure = (): null => (tried++, null);
  const cells = [square(1), { hash: "none", what: "none", measure }];
  for (const measured of [1, 0]) {
    const [bench] = benchIn(folder);
    expect(await bench.run("r.jsonl", cells)).toHaveLength(1);
    expect(bench.measured).toBe(measured);
  }
  expect(tried).toBe(2);
});

test("a run that is ended keeps what it has measured", async () => {
  const folder = outFolder();
  const stop = new AbortController();
  const [bench] = benchIn(folder, stop.signal);
  const last: Measurement<Result> = {
    ...square(2),
    measure: async () => {
      stop.abort(new Error("interrupted"));
      await delay(0);
      return { hash: "h2", value: 4 };
    },
  };
  await expect(bench.run("r.jsonl", [square(1), last, square(3)])).rejects.toThrow("interrupted");
  expect(readFileSync(join(folder, "r.jsonl"), "utf8").trim().split("\n")).toHaveLength(2);
});

test("combinations go through contenders first, then runs, then points", () => {
  const all = { points: ["a", "b"], runs: 2, contenders: ["x", "y"] };
  expect(combinations(all, (point, run, contender) => `${point}${run}${contender}`).join(" ")).toBe(
    "a0x a0y a1x a1y b0x b0y b1x b1y",
  );
});
