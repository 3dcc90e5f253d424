import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createProgram } from "../program.ts";
import { completionScript } from "./scripts.ts";
import type { Shell } from "./scripts.ts";
import { wordsOf } from "./words.ts";

const folder = mkdtempSync(join(tmpdir(), "isochrone-completion-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "matrix.txt"), "");
const words = wordsOf(createProgram(() => undefined));

function scriptFile(shell: Shell): string {
  const path = join(folder, `_isochrone.${shell}`);
  writeFileSync(path, completionScript(shell, "isochrone", words));
  return path;
}

const isInstalled = (shell: string): boolean => spawnSync(shell, ["--version"]).status === 0;

function run(shell: string, args: readonly string[]): string {
  const { stdout, stderr, status } = spawnSync(shell, args, {
    cwd: folder,
    encoding: "utf8",
    timeout: 10_000,
    env: { ...process.env, HOME: folder },
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return stdout;
}

const CASES: readonly (readonly [readonly string[], readonly string[]])[] = [
  [["gr"], ["graph"]],
  [["lab", "l"], ["link"]],
  [["lab", "link", "--d"], ["--delay"]],
  [
    ["graph", "-o", ""],
    ["dot", "json", "table", "yaml"],
  ],
  [["graph", "--workflow", "lab", "--output", "j"], ["json"]],
  [
    ["doctor", "--only", "k"],
    ["kafka", "kernel"],
  ],
  [
    ["up", "--acts", "s"],
    ["score", "spread"],
  ],
  [
    ["completion", ""],
    ["bash", "fish", "zsh"],
  ],
  [["bench", "coordinates", "--matrix", "mat"], ["matrix.txt"]],
  [["up", "--port", ""], []],
];

describe("completion", () => {
  it("knows every command and option of the program, and the choices of options", () => {
    const graph = words.find(({ path }) => path === "/graph")!;
    const output = graph.options.find(({ flags }) => flags.includes("--output"))!;
    expect(output).toMatchObject({
      flags: ["-o", "--output"],
      value: { words: expect.arrayContaining(["dot"]) },
    });
    expect(words.map(({ path }) => path)).toEqual(expect.arrayContaining(["", "/lab/matrix", "/doctor"]));
  });

  it.skipIf(!isInstalled("bash"))("answers in bash", () => {
    const lines = [
      `source ${scriptFile("bash")}`,
      'try() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMPREPLY=(); _isochrone; echo "${COMPREPLY[*]}"; }',
      ...CASES.map(([typed]) => `try isochrone ${typed.map((word) => `'${word}'`).join(" ")}`),
      "try isochrone graph --output = js",
    ];
    const answers = run("bash", ["--norc", "-c", lines.join("\n")]).split("\n");
    expect(
      answers.slice(0, -1).map((line) =>
        line
          .split(" ")
          .filter((word) => word !== "")
          .sort(),
      ),
    ).toEqual([...CASES.map(([, expected]) => expected), ["json"]]);
  });

  it.skipIf(!isInstalled("fish"))("answers in fish", () => {
    const lines = [
      `source ${scriptFile("fish")}`,
      ...CASES.map(([typed]) => `echo (complete -C 'isochrone ${typed.join(" ")}' | cut -f1)`),
    ];
    const answers = run("fish", ["--no-config", "-c", lines.join("\n")]).split("\n");
    expect(
      answers.slice(0, -1).map((line) =>
        line
          .split(" ")
          .filter((word) => word !== "")
          .sort(),
      ),
    ).toEqual(CASES.map(([, expected]) => expected));
  });

  it.skipIf(!isInstalled("zsh"))("answers in zsh", () => {
    // The completion system needs a terminal: a stub records its offers.
    const lines = [
      "compdef() { :; }",
      'compadd() { print -r -- "$@"; }',
      "_files() { print -r -- files; }",
      '_describe() { print -r -- "${(@)${(P)2}%%:*}"; }',
      `source ${scriptFile("zsh")}`,
      'try() { words=(isochrone "$@"); CURRENT=$#words; PREFIX="$words[-1]"; _isochrone; }',
      "try graph -o ''",
      "try lab ''",
      "try completion ''",
      "try bench coordinates --matrix ''",
    ];
    const answers = run("zsh", ["-f", "-c", lines.join("\n")]);
    expect(answers).toContain("table json yaml dot");
    expect(answers).toContain("link matrix record");
    expect(answers).toContain("bash zsh fish");
    expect(answers).toContain("files");
  });
});
