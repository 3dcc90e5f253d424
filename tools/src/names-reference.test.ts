import { join } from "node:path";
import { expect, test } from "vitest";
import { documentedNames, namesTable } from "./names-reference.ts";

test("names are found with what the code says of them, those without their prefix too", () => {
  const names = documentedNames(join(import.meta.dirname, "../.."));
  const find = (constant: string) => names.find((one) => one.constant === constant);
  expect(find("PLACEMENT_GATE")).toEqual({
    name: "isochrone.dev/placement",
    constant: "PLACEMENT_GATE",
    text: "The scheduling gate of pods that the planner places.",
  });
  expect(find("observedAt")?.name).toBe("isochrone.dev/observed-at");
  // A multi-line comment is one text, and links are plain.
  expect(find("LAST_MOVE_ANNOTATION")?.text).toMatch(/^Annotation: when a pod .* JSON of LastMove\.$/);
  expect(names.length).toBeGreaterThan(25);
  expect(namesTable(names).split("\n")).toHaveLength(names.length + 2);
});
