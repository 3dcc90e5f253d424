import { facts, details, html, prose, type Html } from "./html.ts";
import { reportPage } from "./page.ts";
import type { ScenarioHead } from "../scenario/head.ts";
import type { ReportContext } from "../frame/experiment.ts";

export type SetUpRow = readonly [string, string | Html];

interface ReportParts {
  readonly findings: Html | null;
  readonly setUp: readonly SetUpRow[];
  readonly setUpDetails?: Html | null;
  readonly results: Html;
  readonly threats?: Html | null;
  readonly all: { readonly title: string; readonly summary: string; readonly table: Html };
}

export function experimentReport(
  head: ScenarioHead,
  { command, machine }: ReportContext,
  { findings, setUp, setUpDetails = null, results, threats = null, all }: ReportParts,
): string {
  return reportPage(
    head,
    html`${findings}
      <h2>Set-up</h2>
      ${facts([
        ["source", prose(head.source)],
        ...setUp,
        ["machine", factsText(machine)],
        ["command", html`<code>${command}</code>`],
      ])}${setUpDetails}
      <h2>Results</h2>
      ${results}
      <h2>Threats to validity</h2>
      <ul>
        ${head.threats.map((threat) => html`<li>${prose(threat)}</li>`)} ${threats}
      </ul>
      <h2>${all.title}</h2>
      ${details(all.summary, all.table)}`,
  );
}

/** @param quick limits of a quick run; null: a full run */
export function findingList(findings: readonly string[], quick: string | null): Html {
  return html`<div class="finding">
    <ul>
      ${findings.map((text) => html`<li>${text}</li>`)}
    </ul>
    ${quickNote(quick)}
  </div>`;
}

export function quickNote(quick: string | null): Html | null {
  if (quick === null) return null;
  return html`<p>This is a quick run: ${quick}. It shows directions, not sizes.</p>`;
}

export function factsText(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${value}`)
    .join("; ");
}
