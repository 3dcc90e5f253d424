import { expect, test } from "vitest";
import { countCommentLines, vagueComments } from "./comments.ts";
import { readSource } from "./source-text.ts";

const TEXT = [
  "// Reads a file.",
  "// Of no interest: the second line of a comment.",
  'const a = "// What a string says"; // Where it is beside code',
  "",
  "/**",
  " * By the leader.",
  " */",
  "const b = 1;",
  "/** Whose. */",
  "const c = 2; /* Offset, in bytes */",
].join("\n");

test("counts lines that hold nothing but a comment", () => {
  expect(countCommentLines(TEXT, readSource(TEXT))).toBe(6);
});

test("finds comments that begin with a word that names nothing", () => {
  expect(vagueComments(TEXT, readSource(TEXT))).toEqual([3, 5, 9]);
});
