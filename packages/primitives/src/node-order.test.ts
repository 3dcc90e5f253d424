import { expect, it } from "vitest";
import { byPlace } from "./node-order.ts";

it("sorts nodes by region, zone and name, and numbers in names by their value", () => {
  const node = (name: string, zone: string | null, region: string | null) => ({ name, zone, region });
  const nodes = [
    node("node-10", "z1", "west"),
    node("a", "z2", "west"),
    node("node-2", "z1", "west"),
    node("lone", null, null),
    node("late", "z9", "east"),
  ];
  expect(nodes.sort(byPlace).map(({ name }) => name)).toEqual(["late", "lone", "node-2", "node-10", "a"]);
});
