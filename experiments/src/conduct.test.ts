import { expect, test } from "vitest";
import { conductText, outFolder, textOf } from "./frame/testing/conduct-text.ts";
import { listScenarios } from "./scenario/catalogue.ts";
import { ScenarioError } from "./scenario/errors.ts";
import { kindOf } from "./scenario/kinds.ts";

const NAMES = listScenarios().map(({ name, kind }) => [kind, name] as const);
const EXAMPLES = [...new Map(NAMES.toReversed())].map(([kind, name]) => ({ kind, name }));

test("the project has a scenario of each kind", () => {
  expect(EXAMPLES.map(({ kind }) => kind).sort()).toEqual([
    "bill",
    "kais",
    "streams",
    "streams-example",
    "workflows",
  ]);
});

test.each(EXAMPLES)("$kind: mistakes of the file are named, and nothing is run", async ({ name }) => {
  const text = textOf(name).replace(/^title:/m, "titel:");
  const run = conductText(name, { out: outFolder(), quick: false }, text);
  await expect(run).rejects.toThrow(ScenarioError);
  await expect(run).rejects.toThrow(/titel is not known; known here: /);
});

test.each(EXAMPLES.filter(({ kind }) => !kind.endsWith("example")))(
  "$kind: an unknown contender and labels of no point are refused",
  async ({ kind, name }) => {
    const over = { out: outFolder(), quick: false };
    await expect(conductText(name, { ...over, contenders: ["nobody"] })).rejects.toThrow(
      /contenders must be of .+, got nobody/,
    );
    // Kind `bill` has no axes.
    if (kind === "bill") return;
    await expect(conductText(name, { ...over, only: { nowhere: "1" } })).rejects.toThrow(
      /points must have .+/,
    );
  },
);

test("a kind that nobody knows is refused", async () => {
  const text = `kind: chess\n${textOf("null")}`;
  expect(kindOf(text)).toBe("workflows");
  await expect(conductText("null", { out: outFolder() }, text)).rejects.toThrow("kind is not known");
});
