import { expect, test } from "vitest";
import { defaultLinks } from "./default-links.ts";
import { defaultMatrix, loadMatrix, parseMatrix } from "./matrix-file.ts";
import { defaultSites, MAX_DEFAULT_SITES } from "./sites.ts";

/** What the data's README promises of its rows, ms. */
const CLASSES = { zone: [1, 6], region: [8, 35], beyond: [50, 170] } as const;

test("every pair of default sites has a time of its class, in both directions", () => {
  const sites = defaultSites(MAX_DEFAULT_SITES);
  const links = defaultLinks(sites);
  for (const [i, a] of sites.entries()) {
    for (const [j, b] of sites.entries()) {
      if (i === j) continue;
      const [min, max] = CLASSES[a.zone === b.zone ? "zone" : a.region === b.region ? "region" : "beyond"];
      const { rttMs, jitterMs } = links[i]![j]!;
      expect(rttMs, `${a.name} to ${b.name}`).toBeGreaterThanOrEqual(min);
      expect(rttMs, `${a.name} to ${b.name}`).toBeLessThanOrEqual(max);
      expect(jitterMs).toBe(Math.max(0.1, 0.015 * rttMs));
    }
  }
});

test("the default cluster has 8 nodes in 3 regions and 5 zones", () => {
  const sites = defaultSites();
  expect(sites.length).toBe(8);
  expect(new Set(sites.map(({ region }) => region)).size).toBe(3);
  expect(new Set(sites.map(({ zone }) => zone)).size).toBe(5);
});

test.each([0, 17, 1.5, Number.NaN])("%d default sites are refused", (count) => {
  expect(() => defaultSites(count)).toThrow(`the number of default sites must be from 1 to 16, got ${count}`);
});

test("the built-in matrix is 16 x 16 with nothing missing beside the diagonal", () => {
  const matrix = defaultMatrix();
  expect(matrix.length).toBe(16);
  expect(
    matrix.every((row, i) => row.length === 16 && row.every((rtt, j) => (i === j) === (rtt === null))),
  ).toBe(true);
});

test("zero and less mean not measured, blank lines don't count", () => {
  expect(parseMatrix("0 1.5\r\n\n  -1\t0  \n", "m")).toEqual([
    [null, 1.5],
    [null, null],
  ]);
});

test("a pair measured one way only takes that time both ways, an unmeasured one is refused", () => {
  const sites = [
    { name: "a", row: 0 },
    { name: "b", row: 1 },
  ];
  expect(defaultLinks(sites, parseMatrix("0 0\n7 0", "m"))[0]![1]!.rttMs).toBe(7);
  expect(() => defaultLinks(sites, parseMatrix("0 0\n0 0", "m"))).toThrow(
    "a to b: rows 0 and 1 must have a measured round-trip time, got none",
  );
  expect(() => defaultLinks([{ name: "a", row: 5 }], parseMatrix("0", "m"))).toThrow(
    "a needs row 5 (counted from 0), the matrix has 1 rows",
  );
});

test.each([
  ["0 1\n1 x", 'm, line 2, column 2: a round-trip time must be a number of ms, got "x"'],
  ["0 1\n1 Infinity", 'm, line 2, column 2: a round-trip time must be a number of ms, got "Infinity"'],
  ["0 1e9\n1 0", "m, line 1, column 2: a round-trip time must be at most 60000 ms, got 1e9"],
  ["0 1\n\n1", "m, line 3, column 2: a matrix of 2 rows must have 2 columns, got 1"],
  ["0 1 2\n1 0", "m, line 1, column 3: a matrix of 2 rows must have 2 columns, got 3"],
  [" \n", "m: a matrix must have at least one row, got none"],
])("the matrix %j is refused with its place", (text, message) => {
  expect(() => parseMatrix(text, "m")).toThrow(message);
});

test("a file that isn't there is named", () => {
  expect(() => loadMatrix("/nowhere/matrix.txt")).toThrow(
    "can't read the matrix /nowhere/matrix.txt: ENOENT",
  );
});
