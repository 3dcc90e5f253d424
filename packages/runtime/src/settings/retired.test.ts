import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadSettings } from "./load.ts";
import { section } from "./section.ts";

test("a retired name is ignored and named where an operator gives it, and a mistake of a program", () => {
  const retiring = section("retiring", {}, { retired: ["pauseMs"] });
  const folder = mkdtempSync(join(tmpdir(), "isochrone-retired-"));
  const removed: string[] = [];
  const onRemoved = (sentence: string): void => void removed.push(sentence);
  try {
    const file = join(folder, "settings.yaml");
    writeFileSync(file, "retiring: { pauseMs: 7 }");
    const env = { ISOCHRONE_RETIRING_PAUSE_MS: "9" };
    expect(loadSettings([retiring], { env: {}, file, onRemoved }).retiring).toEqual({});
    expect(loadSettings([retiring], { env, onRemoved }).retiring).toEqual({});
  } finally {
    rmSync(folder, { recursive: true });
  }
  const sentence = "retiring.pauseMs (ISOCHRONE_RETIRING_PAUSE_MS) is no setting any more and is ignored";
  expect(removed).toEqual([sentence, sentence]);
  const given = { retiring: { pauseMs: 7 } };
  for (const sources of [{ file: given }, { overrides: given }])
    expect(() => loadSettings([retiring], { env: {}, ...sources })).toThrow(
      "retiring.pauseMs is not a setting",
    );
});
