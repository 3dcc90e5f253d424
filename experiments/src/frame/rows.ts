import type { Labels } from "../scenario/model.ts";

type Value = string | number | null | undefined | readonly number[];

/** Returns a header and one row per result: point, labels, then values of these keys. */
export function rowsOf<K extends string>(
  results: readonly ({ readonly point: string; readonly labels: Labels } & Readonly<Record<K, Value>>)[],
  keys: readonly K[],
): (string | number)[][] {
  const axes = axesOf(results);
  const values = plainRows(results, keys);
  return [
    ["point", ...axes, ...values[0]!],
    ...results.map(({ point, labels }, at) => [
      point,
      ...axes.map((axis) => labels[axis] ?? ""),
      ...values[at + 1]!,
    ]),
  ];
}

export function plainRows<K extends string>(
  results: readonly Readonly<Record<K, Value>>[],
  keys: readonly K[],
): (string | number)[][] {
  return [[...keys], ...results.map((result) => keys.map((key) => shown(result[key])))];
}

export function axesOf(results: readonly { readonly labels: Labels }[]): readonly string[] {
  return [...new Set(results.flatMap(({ labels }) => Object.keys(labels)))];
}

function shown(value: Value): string | number {
  return typeof value === "object" ? (value ?? []).join(" ") : (value ?? "");
}

/** Formats rows as CSV (RFC 4180). */
export function toCsv(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((row) => `${row.map(escaped).join(",")}\r\n`).join("");
}

function escaped(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
