import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { conductText, outFolder, textOf } from "../frame/testing/conduct-text.ts";

const TEXT = textOf("ents-example");
const conduct = (text: string) => conductText("ents-example", { out: outFolder(), quick: false }, text);

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
