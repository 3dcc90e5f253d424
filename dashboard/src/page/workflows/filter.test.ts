import { expect, test } from "vitest";
import { matching } from "./filter.ts";

test("finds by all words, lists few, and always the chosen one", () => {
  const all = Array.from({ length: 10_000 }, (_, index) => ({
    namespace: `team-${index % 7}`,
    name: `flow-${index}`,
  }));
  expect(matching(all, "", null)).toMatchObject({ total: 10_000 });
  expect(matching(all, "", null).shown).toHaveLength(200);
  const { shown, total } = matching(all, " TEAM-3 flow-9999 ", all[1]!);
  expect(total).toBe(
    all.filter(({ namespace, name }) => namespace === "team-3" && name.includes("flow-9999")).length,
  );
  expect(shown[0]).toEqual(all[1]);
});
