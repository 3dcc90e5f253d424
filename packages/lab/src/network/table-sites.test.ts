import { expect, test } from "vitest";
import { defaultLinks } from "./default-links.ts";
import { defaultMatrix, parseTable } from "./matrix-file.ts";
import { defaultSites, MAX_DEFAULT_SITES } from "./sites.ts";
import { tableSites } from "./table-sites.ts";

const labelsOf = (text: string): readonly string[] =>
  tableSites(parseTable(text, "m")).sites.map(({ name, zone, region }) => `${name} ${zone} ${region}`);

test.each<[string, string, readonly string[], readonly string[]]>([
  [
    "zones in names, and one region for each that is far",
    "a/eu-1 b/eu-1 c/us-1\n0 3 80\n3 0 81\n80 81 0",
    ["a eu-1 eu-1", "b eu-1 eu-1", "c us-1 us-1"],
    ["regions"],
  ],
  [
    "zones in names, near ones share a region",
    ",a/eu-1,b/eu-2,c/us-1\na,,9,80\nb,9,,81\nc,80,81,",
    ["a eu-1 eu", "b eu-2 eu", "c us-1 us-1"],
    ["regions"],
  ],
  [
    "zones and regions in names",
    '"";"a/x/left";"b/y/left"\n"a/x/left";;"300 ms"\n"b/y/left";300,5;',
    ["a x left", "b y left"],
    [],
  ],
  [
    "a zone of a cloud gives its region",
    "a/us-east-1a b/us-east-1b\n0 90\n90 0",
    ["a us-east-1a us-east-1", "b us-east-1b us-east-1"],
    [],
  ],
  [
    "a node is named like a zone of a cloud",
    "us-east-1a europe-west1-b\n0 1\n1 0",
    ["us-east-1a us-east-1a us-east-1", "europe-west1-b europe-west1-b europe-west1"],
    [],
  ],
  [
    "nothing but times of near nodes",
    "a\tb\tc\n0\t3ms\t80\n3\t0\t81\n80\t81\t0",
    ["a zone-1 zone-1", "b zone-1 zone-1", "c c c"],
    ["zones", "regions"],
  ],
  [
    "words that names share",
    "w-a-1,w-a-2,w-b-1,e\n0,3,12,80\n3,0,12,80\n12,12,0,80\n80,80,80,0",
    ["w-a-1 w-a w", "w-a-2 w-a w", "w-b-1 w-b-1 w", "e e e"],
    ["zones", "regions"],
  ],
  [
    "no names",
    "0 4 70 72\n4 0 71 70\n70 71 0 3\n72 70 3 0",
    ["node-1 zone-1 zone-1", "node-2 zone-1 zone-1", "node-3 zone-2 zone-2", "node-4 zone-2 zone-2"],
    ["zones", "regions"],
  ],
  [
    "no chain: the ends of a zone are near, too",
    "a b c\n0 6 12\n6 0 6.5\n12 6.5 0",
    ["a zone-1 region-1", "b zone-1 region-1", "c c region-1"],
    ["zones", "regions"],
  ],
  [
    "some with a zone",
    "a/eu-1 b c\n0 50 51\n50 0 2\n51 2 0",
    ["a eu-1 eu-1", "b zone-1 zone-1", "c zone-1 zone-1"],
    ["zones", "regions"],
  ],
])("labels of a table: %s", (_, text, labels, derived) => {
  expect(labelsOf(text)).toEqual(labels);
  expect(tableSites(parseTable(text, "m")).derived).toEqual(derived);
});

test("times of the built-in matrix imply the regions that its sites have", () => {
  const rttMs = defaultMatrix();
  const given = defaultSites(MAX_DEFAULT_SITES);
  const table = { names: given.map((_, row) => `n${row}`), namesPlace: "m", rttMs, places: [] };
  const { sites } = tableSites(table);
  for (const [a, one] of sites.entries())
    for (const [b, other] of sites.entries()) {
      expect(one.region === other.region, `${a} ${b}`).toBe(given[a]!.region === given[b]!.region);
      expect(one.zone === other.zone, `${a} ${b}`).toBe(given[a]!.zone === given[b]!.zone);
    }
});

test.each([
  ["a/ b\n0 1\n1 0", 'm, line 1: a name must be node, node/zone or node/zone/region, got "a/"'],
  [
    "# ms\na/z/r/x b\n0 1\n1 0",
    'm, line 2: a name must be node, node/zone or node/zone/region, got "a/z/r/x"',
  ],
  ["a/z/r b/z/q\n0 1\n1 0", "m, line 1: a zone must be in one region, got z in r and in q"],
  ["a/x a/y\n0 1\n1 0", 'm, line 1: names must differ in lower-case letters and digits, got ["a/x","a/y"]'],
  [
    ",a b,A-b\na b,,1\nA-b,1,",
    'm, line 1: names must differ in lower-case letters and digits, got ["a b","A-b"]',
  ],
  ["a b\n0 1 2\n1 0 3\n2 3 0", "m, line 1: a header must have a name for each of the 3 rows, got 2"],
  [",a/z,b/z\na/y,,1\nb/z,1,", 'm, line 2: a row must have the name of a column, got "a/y"'],
  [",a,b\na,,1\na,1,", 'm, line 3: a name must have one row, got "a" again (m, line 2)'],
  [
    ",a,b,c\na,,1,2\nb,1,,\nc,2,,",
    "m, line 3: b to c: rows 1 and 2 must have a measured round-trip time, got none",
  ],
])("the table %j is refused with its place", (text, message) => {
  expect(() => {
    const table = parseTable(text, "m");
    defaultLinks(tableSites(table).sites, table.rttMs, table.places);
  }).toThrow(message);
});

test("CSV of spreadsheets: byte order mark, quoted separators, quotes and decimal commas", () => {
  const text = '\uFEFF"ms, p50","a, b","c ""d"""\r\n"a, b",,"1,5 ms"\r\n"c ""d""","1,5",\r\n';
  expect(parseTable(text, "m")).toMatchObject({
    names: ["a, b", 'c "d"'],
    rttMs: [
      [null, 1.5],
      [1.5, null],
    ],
  });
});
