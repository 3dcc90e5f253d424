import { clusterSnapshot, deadLink, link, node } from "@isochrone/topology/testing";
import { expect, test } from "vitest";
import { clusterMatrix } from "./graph.ts";

test("costs are shown with how far they may be from the truth", () => {
  const nodes = ["a", "b", "c"].map((name) => node(name));
  const links = [
    link("a", "b", 3.14, { errorMs: 0.42 }),
    link("b", "a", 3.14, { errorMs: 0.42, lossRatio: 0.1 }),
    link("a", "c", 37.8, { errorMs: 36, provisional: true }),
    link("b", "c", 5, { errorMs: null }),
    deadLink("c", "a"),
  ];
  const rows = (withErrors: boolean): string[][] =>
    clusterMatrix(clusterSnapshot(nodes, links), withErrors)
      .split("\n")
      .slice(1)
      .map((line) => line.split(/ +/).slice(1));
  expect(rows(true)).toEqual([
    ["3.1±0.4", "37.8±?"],
    ["3.1!±0.4", "5.0±?"],
    ["lost", "–"],
  ]);
  expect(rows(false)[0]).toEqual(["3.1", "37.8"]);
});
