import { expect, test } from "vitest";
import { Turns } from "./turns.ts";

test("one at a time, whoever can't wait first, and failures hold up nobody", async () => {
  const turns = new Turns();
  const done: string[] = [];
  const gate = Promise.withResolvers<void>();
  const step = (name: string, isPatient = false): Promise<void> =>
    turns.run(async () => {
      await gate.promise;
      done.push(name);
      if (name === "fails") throw new Error(name);
    }, isPatient);
  const all = [
    step("first", true),
    step("patient", true),
    step("fails").catch(() => undefined),
    step("urgent"),
  ];
  expect(done).toEqual([]);
  gate.resolve();
  await Promise.all(all);
  await step("later");
  expect(done).toEqual(["first", "fails", "urgent", "patient", "later"]);
});
