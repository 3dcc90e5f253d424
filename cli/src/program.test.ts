import type { Command } from "commander";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createProgram } from "./program.ts";

interface Leaf {
  readonly path: string;
  readonly command: Command;
}

function leavesOf(command: Command, path: string): Leaf[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((each) => leavesOf(each, `${path} ${each.name()}`.trim()));
}

const leaves = leavesOf(
  createProgram(() => undefined),
  "",
);
const WITHOUT_FORMATS = ["mcp", "completion"];

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  return text;
}

const DOCS = readFileSync(new URL("../../docs/cli.md", import.meta.url), "utf8");
const PAGES = ["README.md", "docs/demo.md"].map((page) =>
  readFileSync(new URL(`../../${page}`, import.meta.url), "utf8"),
);

describe("the program", () => {
  it.each(leaves.map(({ path }) => [path]))("has %s in docs/cli.md, with an example", (path) => {
    const row = DOCS.split("\n").find((line) => new RegExp(`^\\| \`${path}[ \`]`).test(line));
    expect(row).toContain(`isochrone ${path}`);
  });

  it("has every command and long option that the README and the demo's page use", () => {
    const used = [...PAGES.join("\n").matchAll(/npx isochrone ([^#`\n]*)/g)].map(([, words = ""]) =>
      words.trim().split(/\s+/),
    );
    expect(used.length).toBeGreaterThan(12);
    for (const words of used) {
      const leaf = leaves.find(({ path }) => `${words.join(" ")} `.startsWith(`${path} `));
      expect([words, leaf?.path]).not.toEqual([words, undefined]);
      const known = leaf!.command.options.map(({ long }) => long);
      expect(known).toEqual(expect.arrayContaining(words.filter((word) => word.startsWith("--"))));
    }
  });

  it.each(leaves.map(({ path, command }) => [path, command] as const))(
    "gives %s examples",
    (path, command) => {
      const help = helpOf(command);
      expect(help).toMatch(/^Examples?:$/m);
      expect(help).toContain(`isochrone ${path}`);
    },
  );

  it.each(
    leaves
      .filter(({ path }) => !WITHOUT_FORMATS.includes(path))
      .map(({ path, command }) => [path, command] as const),
  )("prints what %s gives in several formats", (path, command) => {
    const choices = command.options.find(({ long }) => long === "--output")?.argChoices;
    expect(choices).toEqual(expect.arrayContaining(["json", "yaml"]));
    expect(choices?.includes("dot")).toBe(path === "graph");
  });

  it("watches what changes", () => {
    const watched = leaves.filter(({ command }) => command.options.some(({ long }) => long === "--watch"));
    expect(watched.map(({ path }) => path)).toEqual([
      "graph",
      "explain",
      "plan",
      "bill",
      "savings",
      "descheduler",
      "dispatch advise",
      "dispatch status",
      "dispatch explain",
    ]);
  });

  it("asks another context wherever it asks a cluster", () => {
    const asking = leaves.filter(
      ({ path, command }) => path !== "up" && command.options.some(({ long }) => long === "--kubeconfig"),
    );
    for (const { path, command } of asking)
      expect([path, command.options.some(({ long }) => long === "--context")]).toEqual([path, true]);
  });

  it("says the name that it was called by", () => {
    const plugin = createProgram(() => undefined, "kubectl isochrone");
    const help = helpOf(plugin.commands.find((each) => each.name() === "graph")!);
    expect(help).toContain("Usage: kubectl isochrone graph");
    expect(help).toContain("  kubectl isochrone graph --watch 5s");
  });

  it.each([
    [["nonsense"]],
    [["graph", "--watch", "soon"]],
    [["doctor", "--only", "luck"]],
    [["completion", "tcsh"]],
  ])("refuses %j as wrong usage", async (args) => {
    const program = createProgram(() => undefined);
    for (const command of [program, ...program.commands])
      command.configureOutput({ writeErr: () => undefined });
    await expect(program.parseAsync(args, { from: "user" })).rejects.toMatchObject({ exitCode: 1 });
  });
});
