import { join } from "node:path";
import { expect, test } from "vitest";
import { documentedNames, namesTable } from "./names-reference.ts";

test("names are found with what the code says of them, those without their prefix too", () => {
  const names = documentedNames(join(import.meta.dirname, "../.."));
  const find = (constant: string) => names.find((one) => one.constant === constant);
  expect(find("PLACEMENT_GATE")).toEqual({
    name: "isochrone.dev/placement",
    constant: "PLACEMENT_GATE",
    text: "Scheduling gate of pods that the planner places.",
  });
  expect(find("observedAt")?.name).toBe("isochrone.dev/observed-at");
  // Joins the lines of a comment and replaces links by their text.
  expect(find("MOVING_ANNOTATION")?.text).toMatch(/^Annotation of a pod .* JSON of PodRelease\.$/);
  expect(names.length).toBeGreaterThan(25);
  expect(namesTable(names).split("\n")).toHaveLength(names.length + 2);
});
