import { expect, test } from "vitest";
import { defaultLinks } from "./default-links.ts";
import { defaultMatrix, loadMatrix, parseMatrix, parseTable } from "./matrix-file.ts";
import { defaultSites, MAX_DEFAULT_SITES, rowsByName } from "./sites.ts";

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

const NAMED = {
  names: ["us-east-1a", "EU West", "c"],
  rttMs: [
    [null, 80, 1.5],
    [80, null, null],
    [1.5, 1200, null],
  ],
};
test.each([
  ["CSV", "region,us-east-1a,EU West,c\nus-east-1a,,80,1.5\nEU West,80,,\nc,1.5,1200,0\n"],
  [
    "CSV with quotes and units",
    '"","us-east-1a","EU West","c"\n"us-east-1a",-,80ms,"1.5 ms"\n"EU West",80ms,n/a\n"c",1500us,1.2s',
  ],
  ["CSV in another order of rows", ",us-east-1a,EU West,c\nc,1.5,1200,-\nus-east-1a,,80,1.5\nEU West,80,,"],
  [
    "CSV of a spreadsheet with decimal commas",
    ";us-east-1a;EU West;c\nus-east-1a;;80;1,5\nEU West;80;;\nc;1,5;1200;",
  ],
  ["tabs", "zone\tus-east-1a\tEU West\tc\nus-east-1a\t\t80\t1.5\nEU West\t80\t\t\nc\t1.5\t1200\t"],
  [
    "Markdown",
    "| from | us-east-1a | EU West | c |\n|---|---:|---:|---:|\n| us-east-1a | | 80 | 1.5 |\n| EU West | 80 | | — |\n| c | 1.5 | 1200 | |",
  ],
  ["a header alone", "us-east-1a,EU West,c\n0,80,1.5\n80,0,\n1.5,1200,0"],
  ["names of rows alone", "us-east-1a,0,80,1.5\nEU West,80,0\nc,1.5,1200,0"],
])("round-trip times with names: %s", (_, text) => {
  expect(parseTable(text, "m")).toMatchObject(NAMED);
});

test("plain columns may have names, too, and numbers any separator", () => {
  expect(parseTable("x a b\na 0 34ms\nb 34ms 0", "m")).toEqual(parseTable("a b\na - 34\nb 34 -", "m"));
  for (const text of ["0,34\n34,0", "0;34\n34;0", "0\t34\n34\t0", "# ms\n0 34\n34 0"])
    expect(parseTable(text, "m")).toMatchObject({
      names: null,
      rttMs: [
        [null, 34],
        [34, null],
      ],
    });
});

test.each([
  [",a,b\na,,x\nb,1,", 'm, line 2, column 3: a round-trip time must be a number of ms, got "x"'],
  [",a,a\na,,1\na,1,", 'm, line 1: names must be unique, got "a" twice'],
  [",a,b\na,,1\nc,1,", 'm, line 3: a row must have the name of a column, got "c"'],
  [",a,b\na,,1,2\nb,1,", "m, line 2, column 3: a matrix of 2 rows must have 2 columns, got 3"],
])("the table %j is refused with its place", (text, message) => {
  expect(() => parseTable(text, "m")).toThrow(message);
});

test("clusters find their rows by the names of nodes, zones and regions", () => {
  const sites = ["n1", "n2", "n3"].map((name, at) => ({ name, zone: at < 2 ? "b" : "x", region: "r" }));
  const rows = rowsByName(sites, ["n3", "b"]);
  expect(rows.map(({ row }) => row)).toEqual([1, 1, 0]);
  const links = defaultLinks(rows, parseTable(",n3,b\nn3,,34\nb,34,", "m").rttMs);
  expect([links[0]![1]!.rttMs, links[0]![2]!.rttMs, links[2]![1]!.rttMs]).toEqual([1, 34, 34]);
  expect(() => rowsByName(sites, ["n1", "n2"])).toThrow(
    "the matrix must have a row of the node n3, its zone x or its region r, got n1, n2",
  );
});

test("a file that isn't there is named", () => {
  expect(() => loadMatrix("/nowhere/matrix.txt")).toThrow(
    "can't read the matrix /nowhere/matrix.txt: ENOENT",
  );
});
