// Each error for wrong input names the subject, the rule, the value and the next step.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { CommanderError } from "commander";
import { afterAll, describe, expect, it } from "vitest";
import { createProgram } from "./program.ts";

const folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function silence(command: Command, write: (text: string) => void): void {
  command.configureOutput({ writeErr: write });
  for (const each of command.commands) silence(each, write);
}

async function answerTo(args: readonly string[]): Promise<string> {
  let said = "";
  const program = createProgram(() => undefined);
  silence(program, (text) => (said += text));
  const error: unknown = await program.parseAsync(args, { from: "user" }).then(
    () => new Error("it was accepted"),
    (reason: unknown) => reason,
  );
  return error instanceof CommanderError ? said : String(error);
}

type Row = readonly [line: string, subject: string, value: string, rule: RegExp];

const ADDRESS = /http or https address without user, query and fragment, such as/;
const FROM_1S = /must be a duration from 1s to 1440m/;
const DURATION = /must be a duration such as 80ms, 2s or 1m, without a unit in ms/;
const WHOLE = /must be a whole number from \d+ to \d+/;

const OPTIONS: readonly Row[] = [
  ["graph --server ftp://here:21", "--server", "ftp://here:21", ADDRESS],
  ["graph --server here", "--server", "here", ADDRESS],
  ["graph --server 127.0.0.1", "--server", "127.0.0.1", ADDRESS],
  ["graph --server 127.0.0.1:x", "--server", "127.0.0.1:x", ADDRESS],
  ["graph --server 127.0.0.1:99999", "--server", "127.0.0.1:99999", ADDRESS],
  ["graph --server 127.0.0.1:0", "--server", "127.0.0.1:0", ADDRESS],
  ["explain web --server http://me:secret@here", "--server", "http://me:secret@here", ADDRESS],
  ["plan shop --server http://here/?a=1", "--server", "http://here/?a=1", ADDRESS],
  ["what-if --server http://here/#graph", "--server", "http://here/#graph", ADDRESS],
  ["bill --server http://", "--server", "http://", ADDRESS],
  ["savings --server mailto:me", "--server", "mailto:me", ADDRESS],
  ["mcp --server //here:80", "--server", "//here:80", ADDRESS],
  ["flows --server file:///etc", "--server", "file:///etc", ADDRESS],
  ["dispatch status --server :8080", "--server", ":8080", ADDRESS],
  ["dispatch explain shop/web --server here:", "--server", "here:", ADDRESS],
  ["doctor --collector here", "--collector", "here", ADDRESS],
  ["lab matrix --lab 127.0.0.1", "--lab", "127.0.0.1", ADDRESS],
  ["graph --watch 999ms", "--watch", "999ms", FROM_1S],
  ["explain web --watch 0", "--watch", "0", FROM_1S],
  ["bill --watch 1", "--watch", "1", FROM_1S],
  ["savings --watch 1441m", "--watch", "1441m", FROM_1S],
  ["descheduler --watch 2h", "--watch", "2h", DURATION],
  ["plan shop --watch=-2s", "--watch", "-2s", DURATION],
  ["dispatch status --watch 1,5s", "--watch", "1,5s", DURATION],
  ["plan shop --time 11m", "--time", "11m", /from 0ms to 10m/],
  ["what-if --time never", "--time", "never", DURATION],
  ["up --window 999ms", "--window", "999ms", /from 1s to 60m/],
  ["lab link a b --delay 61s", "--delay", "61s", /from 0ms to 1m/],
  ["lab link a b --jitter 5us", "--jitter", "5us", DURATION],
  ["lab link a b --loss 101%", "--loss", "101%", /between 0 and 1/],
  ["lab link a b --bandwidth 1T", "--bandwidth", "1T", /such as 100M or 1G/],
  ["lab record --last 1d", "--last", "1d", DURATION],
  ["scheduler-config --timeout 0ms", "--timeout", "0ms", /from 1ms to 1440m/],
  ["up --nodes 1", "--nodes", "1", WHOLE],
  ["up --port 65534", "--port", "65534", WHOLE],
  ["up --rate 0", "--rate", "0", /above 0 and at most/],
  ["up --acts dance", "--acts", "dance", /Allowed choices are/],
  ["up --hot-site south", "--hot-site", "south", /Allowed choices are west, east, north/],
  ["bill --limit 0", "--limit", "0", WHOLE],
  ["bill --by colour", "--by", "colour", /Allowed choices are/],
  ["explain Web", "pod", "Web", /small letters, digits, dashes and dots/],
  ["plan Shop", "namespace", "Shop", /small letters, digits and dashes/],
  ["graph --workflow shop", "--workflow", "shop", /namespace\/name/],
  ["graph -o xml", "--output", "xml", /Allowed choices are/],
  ["what-if --scale web=3", "--scale", "web=3", /namespace\/name=replicas/],
  ["what-if --slow a:b=10ms", "--slow", "a:b=10ms", /a:b=\+10ms or a:b=x1\.5/],
  ["what-if --move shop/web", "--move", "shop/web", /namespace\/pod=node/],
  ["what-if --move web=n1", "--move", "web=n1", /namespace\/pod=node/],
  ["what-if --objective fame", "--objective", "fame", /Allowed choices are latency, money, weighted/],
  ["score --cluster nowhere.yaml --pod a", "--cluster", "nowhere.yaml", /readable file/],
  ["what-if --settings nowhere.yaml", "--settings", "nowhere.yaml", /readable file/],
  ["doctor --kafka ,", "--kafka", ",", /names joined by commas/],
];

describe("a wrong option", () => {
  it.each(OPTIONS)("%j is answered with subject, value, rule and the command's help", async (...row) => {
    const [line, subject, value, rule] = row;
    const args = line.split(" ");
    const answer = await answerTo(args);
    expect(answer).toContain(subject);
    expect(answer).toContain(value);
    expect(answer).toMatch(rule);
    expect(answer).toContain(`(isochrone ${args[0]}`);
    expect(answer).toContain("--help lists what can be said)");
  });
});

const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

describe("a wrong file", () => {
  it.each([
    ["settings.yaml", "- 1\n", /sections by name/],
    ["section.yaml", "planner: 5\n", /section planner must have settings by name/],
    ["broken.yaml", "planner: [\n", /line/],
    [
      "value.yaml",
      "planner:\n  enabled: perhaps\n",
      /planner\.enabled .* must be true or false, got perhaps/,
    ],
    ["unknown.yaml", "planner:\n  enbled: true\n", /enbled/],
  ])("of settings, %s, is answered with the file's name and the rule", async (name, text, rule) => {
    const answer = await answerTo([
      "plan",
      "shop",
      "--server",
      "127.0.0.1:9",
      "--settings",
      file(name, text),
    ]);
    expect(answer).toMatch(rule);
  });

  it.each([
    ["dump.yaml", "items: [\n", /line/],
    ["text.yaml", "hello\n", /must|object/],
    ["list.json", '{"kind":"List","items":5}', /items|list/],
  ])("of objects, %s, is answered with the file's name and the rule", async (name, text, rule) => {
    const answer = await answerTo(["score", "--cluster", file(name, text), "--pod", "shop/web"]);
    expect(answer).toContain(name);
    expect(answer).toMatch(rule);
  });
});
