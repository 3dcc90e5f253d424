import { expect, test } from "vitest";
import { Slots } from "./slots.ts";

test("so many run at a time, the others in the order in which they came; a failure frees its slot", async () => {
  const slots = new Slots(2);
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const begun: number[] = [];
  const runs = gates.map((gate, index) =>
    slots.use(async () => {
      begun.push(index);
      await gate.promise;
    }),
  );
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  gates[1]!.reject(new Error("it failed"));
  await expect(runs[1]).rejects.toThrow("it failed");
  await expect.poll(() => begun).toEqual([0, 1, 2]);
  for (const gate of gates) gate.resolve();
  await Promise.all([runs[0], runs[2], runs[3]]);
  expect(begun).toEqual([0, 1, 2, 3]);
});
