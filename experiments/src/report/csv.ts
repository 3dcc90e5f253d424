import type { CellResult } from "../run/result.ts";

const MEASURED = [
  "requests",
  "failed",
  "p50",
  "p95",
  "p99",
  "mean",
  "throughput",
  "rounds",
  "moves",
  "queueingShare",
  "steadyAfterSeconds",
] as const;
const FACTS = ["cost", "trafficCost", "colocated", "busiest", "nodes"] as const;

/** A row per cell. */
export function toCsv(results: readonly CellResult[]): string {
  const axes = [...new Set(results.flatMap(({ labels }) => Object.keys(labels)))];
  const head = [
    "ground",
    "point",
    ...axes,
    "contender",
    "trial",
    ...MEASURED,
    ...FACTS,
    "by",
    "failure",
    "seconds",
    "hash",
  ];
  const rows = results.map((result) => [
    result.ground,
    result.point,
    ...axes.map((axis) => result.labels[axis] ?? ""),
    result.contender,
    result.trial,
    ...MEASURED.map((key) => result.measured?.[key] ?? ""),
    ...FACTS.map((key) => result.measured?.facts[key] ?? ""),
    result.by,
    result.failure ?? "",
    result.tookSeconds,
    result.hash,
  ]);
  return toRows([head, ...rows]);
}

/** Rows as text (RFC 4180). */
export function toRows(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

function cell(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
