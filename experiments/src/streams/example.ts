// Replays ENTS' motivating example beside the paper's figures.
import { keysOf } from "@isochrone/primitives";
import { solveFigure2, type Figure2 } from "@isochrone/streams/simulation";
import { loadSolver } from "../contenders/highs.ts";
import type { ConductOptions, Experiment } from "../frame/experiment.ts";
import { figure } from "../report/format.ts";
import { facts, html, prose, table } from "../report/html.ts";
import { reportPage } from "../report/page.ts";
import { Field } from "../scenario/field.ts";
import { readHead, type ScenarioHead } from "../scenario/head.ts";
import { closeSheet, openSheet } from "../scenario/sheet.ts";

const STEPS: Readonly<Record<keyof Figure2, string>> = {
  whole: "all tasks on one node",
  equalShares: "first task beside the source; flows share links equally",
  proportional: "flows share links in proportion to what they carry",
  ownRoutes: "each flow with a route of its own",
  optimum: "proven optimum over all nodes, routes and rates (P1)",
};
const NAMES = keysOf(STEPS);
/** Relative tolerance; the solver's own is 1e-6. */
const SAME = 1e-5;

interface Example extends ScenarioHead {
  readonly stated: Figure2;
}

export function openStreamExample(text: string, { file }: ConductOptions): Experiment {
  const example = readExample(text, file);
  return {
    name: example.name,
    folder: example.name,
    async run(_, { command }) {
      const found = await solveFigure2(await loadSolver());
      const steps = NAMES.map((name): Step => {
        const stated = example.stated[name];
        return { name, stated, found: found[name], isSame: Math.abs(found[name] / stated - 1) <= SAME };
      });
      const same = steps.filter(({ isSame }) => isSame).length;
      return {
        cells: steps.length,
        html: reportOf(example, steps, command),
        rows: [["step", "stated", "found"], ...steps.map((step) => [step.name, step.stated, step.found])],
        json: { example, found },
        verdicts: [
          {
            isHeld: same === steps.length,
            text: `${example.name}: ${same} of ${steps.length} steps as stated`,
          },
        ],
      };
    },
  };
}

interface Step {
  readonly name: keyof Figure2;
  readonly stated: number;
  readonly found: number;
  readonly isSame: boolean;
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

function reportOf(example: Example, steps: readonly Step[], command: string): string {
  return reportPage(
    example,
    html`${table(
        "Frames per second",
        ["step", "stated", "found", "same"],
        steps.map(({ name, stated, found, isSame }) => [
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
