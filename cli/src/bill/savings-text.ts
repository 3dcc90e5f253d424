import type { Savings, SavingsLine, SavingsOption } from "@isochrone/topology";
import { table, type Cell } from "../output/table.ts";
import { money } from "./money-text.ts";

const COLUMNS = [
  ["routing", "stay in zone"],
  ["moves", "move pods"],
  ["both", "both"],
] as const;

/** Largest savings first. @param isWhole with risks, reasons and commands */
export function savingsText(savings: Savings, isWhole: boolean): string {
  const { currency, observedAt, lines, leftOut } = savings;
  const head = `savings of ${observedAt ?? "no time"}, ${currency} a month`;
  if (lines.length === 0) return `${head}\n\nno traffic`;
  if (isWhole) return [head, ...lines.map((line) => wholeText(line, currency))].join("\n\n");
  if (lines.every(({ perMonth }) => perMonth === null))
    return `${head}\n\nnothing has a price; isochrone savings NAMESPACE/NAME says what is known without`;
  return [
    head,
    table(["", "", "today", ...COLUMNS.map(([, title]) => title)], lines.map(rowOf)),
    "In parentheses: not advised. isochrone savings NAMESPACE/NAME says why, and how the others are done.",
    ...(leftOut === 0 ? [] : [`${leftOut} workflows and Services are left out`]),
  ].join("\n\n");
}

function rowOf(line: SavingsLine): readonly Cell[] {
  const { kind, namespace, name, perMonth } = line;
  const options = COLUMNS.map(([column]) => {
    const { savedPerMonth: saved, isAdvised } = line[column];
    if (saved === null) return null;
    return isAdvised ? money(saved) : `(${money(saved)})`;
  });
  return [kind, `${namespace}/${name}`, perMonth === null ? null : money(perMonth), ...options];
}

function wholeText(line: SavingsLine, currency: string): string {
  const { kind, namespace, name, workflow, perMonth, roundTripMs } = line;
  const of = kind === "service" ? ` of workflow ${workflow}` : "";
  const rows = COLUMNS.map(([column, title]) => optionRow(title, line[column]));
  return [
    `${kind} ${namespace}/${name}${of}: ${perMonth === null ? "unknown cost" : `${money(perMonth)} ${currency}`} today, mean round trip ${ms(roundTripMs)}`,
    table(["", "saves", "round trip", "zones left", "headroom", "advised"], rows),
    ...COLUMNS.flatMap(([column, title]) => {
      const { commands } = line[column];
      return commands.length === 0 ? [] : [[`${title}:`, ...commands.map((each) => `  ${each}`)].join("\n")];
    }),
  ].join("\n");
}

function optionRow(title: string, option: SavingsOption): readonly Cell[] {
  const { savedPerMonth: saved, roundTripChangeMs: change, zones, headroomRatio: headroom, reason } = option;
  return [
    title,
    saved === null ? null : money(saved),
    change === null ? null : `${change > 0 ? "+" : ""}${ms(change)}`,
    zones,
    headroom === null ? null : `${Math.round(headroom * 100)} %`,
    reason === null ? "yes" : `no: ${reason}`,
  ];
}

function ms(value: number | null): string {
  return value === null ? "unknown" : `${Number(value.toPrecision(3))} ms`;
}
