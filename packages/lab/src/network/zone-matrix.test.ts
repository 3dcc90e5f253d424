import { expect, test } from "vitest";
import { matrixOfZones } from "./zone-matrix.ts";

test("times follow zones and regions", () => {
  const sites = [
    { region: "r1", zone: "r1-a" },
    { region: "r1", zone: "r1-a" },
    { region: "r1", zone: "r1-b" },
    { region: "r2", zone: "r1-a" },
  ];
  expect(matrixOfZones(sites)).toEqual([
    [null, 1, 10, 80],
    [1, null, 10, 80],
    [10, 10, null, 80],
    [80, 80, 80, null],
  ]);
});
