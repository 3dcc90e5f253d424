import { nearestRank, ascending } from "@isochrone/primitives";
import { GROUPS, type Sample } from "./sample.ts";
import { mebibytes, type Verdict } from "./verdict.ts";

export function figures(samples: readonly Sample[]): string {
  const row = (name: string, unit: string, values: readonly number[], digits = 1): string[] => [
    name,
    ...[0, 0.5, 1].map((share) => (nearestRank(ascending(values), share) ?? Number.NaN).toFixed(digits)),
    unit,
  ];
  const rss = GROUPS.map((group) =>
    row(
      `memory ${group}`,
      "MB",
      samples.map(({ rssBytes }) => Number(mebibytes(rssBytes[group]))),
    ),
  );
  const cpu = GROUPS.map((group) =>
    row(
      `CPU ${group}`,
      "% of a core",
      samples.flatMap(({ cpuShare }) => (cpuShare === null ? [] : [cpuShare[group] * 100])),
    ),
  );
  return table([
    ["figure", "min", "median", "max", "unit"],
    ...rss,
    ...cpu,
    row(
      "CPU other programs",
      "% of a core",
      samples.flatMap(({ othersShare }) => (othersShare === null ? [] : [othersShare * 100])),
    ),
    row(
      "graph API",
      "ms",
      samples.flatMap(({ latenciesMs }) => latenciesMs),
    ),
    row(
      "worst link off the record",
      "% of what is allowed",
      samples.map(({ agreement }) => agreement.worst * 100),
      0,
    ),
    row(
      "medians outside",
      "links",
      samples.map(({ agreement }) => agreement.mediansOutside),
      0,
    ),
    row(
      "90th percentiles outside",
      "links",
      samples.map(({ agreement }) => agreement.p90sOutside),
      0,
    ),
    row(
      "links compared",
      "ordered pairs",
      samples.map(({ agreement }) => agreement.compared),
      0,
    ),
  ]);
}

export function verdictLines(verdicts: readonly Verdict[]): string {
  return verdicts
    .map(({ check, ok, detail }) => `${ok ? "ok    " : "FAILED"}  ${check}: ${detail}`)
    .join("\n");
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const isText = (column: number): boolean => column === 0 || column === widths.length - 1;
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          isText(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
