import { expect, test } from "vitest";
import { chartValues, chartValuesTable } from "./chart-values.ts";

test("values are described by the comments in front of them, parts before wholes", () => {
  const text = `# A note that describes nothing.

# -- What it is called,
# in two lines.
name: ""
image:
  # -- Where from | to.
  registry: example
  # -- As a whole.
  labels:
    a: b
# -- A table that is told by its parts.
settings:
  # -- One.
  one: {}
`;
  expect(chartValues(text)).toEqual([
    { path: "name", description: "What it is called, in two lines.", default: '""' },
    { path: "image.registry", description: "Where from | to.", default: "example" },
    { path: "image.labels", description: "As a whole.", default: "a: b" },
    { path: "settings.one", description: "One.", default: "{}" },
  ]);
  expect(chartValuesTable(chartValues(text))).toContain(String.raw`| Where from \| to. | ${"`example`"} |`);
});

test("a value that nothing describes is an error", () => {
  expect(() => chartValues("a:\n  # -- Said.\n  b: 1\n  c: 2\n")).toThrow('a.c has no comment "# --"');
});
