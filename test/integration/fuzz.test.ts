// Fixed seeds and input counts, about a minute. `npm run soak -- fuzz` runs longer.
import { describe, expect, onTestFinished, test } from "vitest";
import { fuzz } from "../soak/fuzz/fuzz.ts";
import { mutateJson } from "../soak/fuzz/mutate.ts";
import { examine, type Target } from "../soak/fuzz/oracle.ts";
import { Draws } from "../soak/fuzz/random.ts";
import { TARGETS } from "../soak/fuzz/targets.ts";

const SEED = 17;

describe("strange inputs", { timeout: 240_000 }, () => {
  test.each(Object.keys(TARGETS))(
    "%s gives coded errors, finite numbers and valid graphs, in bounded time",
    async (name) => {
      const target = await TARGETS[name]!();
      onTestFinished(() => target.close?.());
      const { inputs, found } = await fuzz(target, {
        seed: SEED,
        isOver: (at) => at >= target.iterations,
      });
      const messages = found.map(
        ({ at, message }) => `--target ${name} --seed ${SEED} --at ${at}: ${message}`,
      );
      expect(messages).toEqual([]);
      expect(inputs).toBeGreaterThan(0);
    },
  );
});

describe("the fuzzer itself", () => {
  const target = (run: Target["run"]): Target => ({
    name: "test",
    seeds: [],
    iterations: 1,
    mutate: (draws) => Buffer.from(mutateJson(draws, [{ a: 1, b: ["x"] }])),
    run,
  });
  const input = Buffer.from("x");

  test("makes the same input of a seed and a number again", () => {
    const inputAt = (at: number): string =>
      target(() => ({ isTaken: true }))
        .mutate(new Draws(1, "test", at))
        .toString();
    expect(inputAt(5)).toBe(inputAt(5));
    expect(new Set(Array.from({ length: 50 }, (_, at) => inputAt(at))).size).toBeGreaterThan(20);
  });

  test.each([
    [
      "an error without a code",
      () => {
        throw new TypeError("undefined is not a function");
      },
      "an error without a code: TypeError",
    ],
    [
      "a number that is not finite, however deep",
      () => ({ isTaken: true, output: [{ a: [Number.NaN] }] }),
      "not finite came out at output.0.a.0",
    ],
    ["hidden characters", () => ({ isTaken: true, shown: "a\u001b[2J" }), "hidden characters"],
  ] as const)("finds %s", async (_, run, message) => {
    await expect(examine(target(run), input)).rejects.toThrow(message);
  });

  test("finds what takes too long", async () => {
    const busy = target(() => {
      const before = process.cpuUsage();
      // Uses mostly user CPU time of this process, so that kernel time does not distort it.
      while (process.cpuUsage(before).user < 1_200_000) for (let at = 0; at < 1_000_000; at++);
      return { isTaken: true };
    });
    await expect(examine(busy, input)).rejects.toThrow("s of CPU, at most 1.00 s");
  });

  test("finds that its own seeds are no longer taken", async () => {
    const refusing = { ...target(() => ({ isTaken: false })), seeds: [input] };
    const { found } = await fuzz(refusing, { seed: 1, isOver: () => true });
    expect(found.map(({ message }) => message)).toEqual([
      "a valid input is refused; the fuzzer's seeds are out of date",
    ]);
  });
});
