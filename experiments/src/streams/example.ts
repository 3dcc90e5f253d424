// ENTS' motivating example, step by step, beside what the paper states.
import { keysOf } from "@isochrone/primitives";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { solveFigure2, type Figure2 } from "@isochrone/streams/simulation";
import type { ConductOptions, Conducted } from "../conducted.ts";
import { loadSolver } from "../contenders/highs.ts";
import { toRows } from "../report/csv.ts";
import { figure } from "../report/format.ts";
import { facts, html, prose, table } from "../report/html.ts";
import { reportPage } from "../report/page.ts";
import { Field } from "../scenario/field.ts";
import { readHead } from "../scenario/head.ts";
import { closeSheet, openSheet } from "../scenario/sheet.ts";

const STEPS: Readonly<Record<keyof Figure2, string>> = {
  whole: "all tasks on one node",
  equalShares: "first task beside the source; flows share links equally",
  proportional: "flows share links in proportion to what they carry",
  ownRoutes: "each flow with a route of its own",
  optimum: "proven optimum over all nodes, routes and rates (P1)",
};
const NAMES = keysOf(STEPS);
/** Relative; the solver's own tolerance is 1e-6. */
const SAME = 1e-5;

interface Example {
  readonly name: string;
  readonly title: string;
  readonly question: string;
  readonly source: string;
  readonly threats: readonly string[];
  /** As the paper states them. */
  readonly stated: Figure2;
}

/** Whether a scenario's text is of this kind. */
export function isStreamExample(text: string): boolean {
  return /^kind:\s*streams-example\s*$/m.test(text);
}

/** @param text of the scenario's file. Throws ScenarioError before anything starts. */
export async function conductExample(text: string, options: ConductOptions): Promise<Conducted> {
  const example = readExample(text, options.file);
  const found = await solveFigure2(await loadSolver());
  const rows = NAMES.map((name) => ({
    name,
    stated: example.stated[name],
    found: found[name],
    isSame: Math.abs(found[name] / example.stated[name] - 1) <= SAME,
  }));
  const folder = join(options.out, example.name);
  const files = {
    html: join(folder, "report.html"),
    csv: join(folder, "results.csv"),
    json: join(folder, "results.json"),
  };
  mkdirSync(folder, { recursive: true });
  writeFileSync(files.html, reportOf(example, rows, options.command));
  writeFileSync(
    files.csv,
    toRows([["step", "stated", "found"], ...rows.map((row) => [row.name, row.stated, row.found] as const)]),
  );
  writeFileSync(files.json, `${JSON.stringify({ command: options.command, example, found }, null, 1)}\n`);
  const same = rows.filter(({ isSame }) => isSame).length;
  return {
    scenario: { name: example.name },
    cells: rows.length,
    measured: rows.length,
    failed: 0,
    verdicts: [
      { isHeld: same === rows.length, text: `${example.name}: ${same} of ${rows.length} steps as stated` },
    ],
    files,
  };
}

function readExample(text: string, file: string): Example {
  const sheet = openSheet(text, file);
  const root = new Field(sheet, sheet.document.contents, "", new Map()).map(
    "kind",
    "title",
    "question",
    "source",
    "threats",
    "framesPerSecond",
  );
  const stated = root.get("framesPerSecond").map(...NAMES);
  const frames = (name: keyof Figure2): number => stated.get(name).number({ above: 0 });
  const example: Example = {
    ...readHead(root, file),
    stated: {
      whole: frames("whole"),
      equalShares: frames("equalShares"),
      proportional: frames("proportional"),
      ownRoutes: frames("ownRoutes"),
      optimum: frames("optimum"),
    },
  };
  closeSheet(sheet, file);
  return example;
}

function reportOf(
  example: Example,
  rows: readonly {
    readonly name: keyof Figure2;
    readonly stated: number;
    readonly found: number;
    readonly isSame: boolean;
  }[],
  command: string,
): string {
  return reportPage(
    example,
    html`${table(
        "Frames per second",
        ["step", "stated", "found", "same"],
        rows.map(({ name, stated, found, isSame }) => [
          STEPS[name],
          figure(stated),
          figure(found),
          isSame ? "yes" : "no",
        ]),
      )}
      <h2>Set-up</h2>
      ${facts([
        ["source", prose(example.source)],
        ["command", html`<code>${command}</code>`],
      ])}
      <h2>Threats to validity</h2>
      <ul>
        ${example.threats.map((threat) => html`<li>${prose(threat)}</li>`)}
      </ul>`,
  );
}
