import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scenarioFile } from "../scenario/catalogue.ts";
import { conductExample } from "./example.ts";

const TEXT = readFileSync(scenarioFile("ents-example")!, "utf8");
function conduct(text: string) {
  const out = mkdtempSync(join(tmpdir(), "isochrone-example-"));
  onTestFinished(() => rmSync(out, { recursive: true }));
  return conductExample(text, {
    file: "ents-example.yaml",
    quick: false,
    only: {},
    jobs: 1,
    grounds: ["model"],
    command: "isochrone experiment ents-example",
    out,
    onProgress: () => {},
    signal: new AbortController().signal,
  });
}

test("all steps of the figure are as stated, and a wrong statement is found", async () => {
  const { verdicts, files } = await conduct(TEXT);
  expect(verdicts).toEqual([{ isHeld: true, text: "ents-example: 5 of 5 steps as stated" }]);
  expect(readFileSync(files.csv, "utf8")).toContain("equalShares,2.5,2.5");
  const wrong = await conduct(TEXT.replace("equalShares: 2.5", "equalShares: 2.6"));
  expect(wrong.verdicts).toEqual([{ isHeld: false, text: "ents-example: 4 of 5 steps as stated" }]);
});

test("a statement that is no rate is refused with its place", async () => {
  await expect(conduct(TEXT.replace("whole: 2", "whole: 0"))).rejects.toThrow(
    /framesPerSecond\.whole must be a number \(above 0\), got 0/,
  );
});
