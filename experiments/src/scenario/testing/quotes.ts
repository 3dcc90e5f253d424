// Compares scenarios with quotes from their papers: scenarios/data/quotes.yaml, which explains the format.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Point, Reference, Scenario } from "../model.ts";

/** Place in the paper, label, printed numbers, field of the scenario. */
export type Quote = readonly [at: string, label: string, printed: unknown, field: string];

interface Quotes {
  readonly papers: Readonly<Record<string, string>>;
  readonly scenarios: Readonly<Record<string, readonly Quote[]>>;
  readonly streams: Readonly<Record<string, readonly Quote[]>>;
  readonly kais: Readonly<Record<string, readonly Quote[]>>;
}

const FILE = new URL("../../../scenarios/data/quotes.yaml", import.meta.url);
/** Factors from printed units to milliseconds, shares, millicores, bytes. */
const UNITS: Readonly<Record<string, (value: number) => number>> = {
  "": (value) => value,
  ms: (value) => value,
  "%": (value) => value / 100,
  vCPU: (value) => value * 1000,
  GB: (value) => value * 2 ** 30,
};

export function loadQuotes(): Quotes {
  return parse(readFileSync(FILE, "utf8")) as Quotes;
}

/** Lists numbers that differ from their quotes, and figures without a quote. */
export function quoteProblems(scenario: Scenario, quotes: readonly Quote[]): string[] {
  return [
    ...quotes.flatMap((quote) => wrongNumbers(scenario, quote)),
    ...figuresOf(scenario)
      .filter((figure) => !quotes.some(([at]) => figuresIn(at).includes(figure)))
      .map((figure) => `names ${figure}, of which there is no quote`),
    ...scenario.references.flatMap((reference) => referenceProblems(reference, quotes)),
  ];
}

function wrongNumbers(scenario: Scenario, [at, label, printed, field]: Quote): string[] {
  const numbers = [printed].flat();
  const held = valuesAt(scenario, field);
  const [text] = held;
  if (field === "source") {
    const missing = numbers.filter((number) => !String(text).includes(String(number)));
    return missing.map((number) => `${field} must say ${String(number)} (${at}, ${label})`);
  }
  const wanted = numbers.map((number) => inFieldsUnit(number));
  if (sorted(wanted) === sorted(held)) return [];
  return [`${field} must be ${wanted.join(", ")} (${at}, ${label}), got ${held.join(", ") || "nothing"}`];
}

export function inFieldsUnit(printed: unknown): number | string {
  const text = String(printed);
  const [, number, unit = ""] = /^(-?\d+(?:\.\d+)?) ?(\D*)$/.exec(text) ?? [];
  if (number === undefined) return text;
  const convert = UNITS[unit];
  if (convert === undefined) throw new Error(`${text} must have one of the units ms, %, vCPU and GB`);
  return convert(Number(number));
}

function sorted(values: readonly (number | string)[]): string {
  return JSON.stringify(values.map(String).sort());
}

/** "figures 3 and 4, Table 1" gives "table 1", "figure 3", "figure 4". "Figure 3, 10 ms" has one figure. */
export function figuresIn(said: string): string[] {
  const text = said.replace(/\bfig(s?)\./gi, "figure$1");
  const one = [...text.matchAll(/\b(figure|table) (\d+)/gi)].map(([, kind, number]) => [
    kind,
    Number(number),
  ]);
  const several = [...text.matchAll(/\b(figure|table)s (\d+(?:(?:, | and | to )\d+)+)/gi)].flatMap(
    ([, kind, list]) => numbersIn(list!).map((number) => [kind, number]),
  );
  return [...one, ...several].map(([kind, number]) => `${kind} ${number}`.toLowerCase());
}

/** `[2, 4, 5, 6]` from "2 and 4 to 6". */
function numbersIn(list: string): number[] {
  return list.split(/, | and /).flatMap((part) => {
    const [first, last = first] = part.split(" to ").map(Number);
    return Array.from({ length: last! - first! + 1 }, (_, index) => first! + index);
  });
}

function figuresOf({ title, question, source, threats, references }: Scenario): string[] {
  const texts = [title, question, source, ...threats, ...references.map(({ text }) => text)];
  return [...new Set(texts.flatMap(figuresIn))];
}

function referenceProblems(reference: Reference, quotes: readonly Quote[]): string[] {
  const key = keyOf(reference);
  const percent = `${Math.abs(Math.round(reference.change * 100))} %`;
  return [
    ...(quotes.some(([, , , field]) => field === `references.${key}.change`)
      ? []
      : [`has a reference (${key}) of which there is no quote`]),
    ...(reference.text.includes(percent) ? [] : [`the reference's text (${key}) must say ${percent}`]),
  ];
}

/** `p95 rttMs=10` */
function keyOf({ statistic = "p95", where }: Reference): string {
  return [statistic, ...Object.entries(where).map(([name, value]) => `${name}=${value}`)].join(" ");
}

function valuesAt(scenario: Scenario, field: string): (number | string)[] {
  const { trials, source, references } = scenario;
  const roots = scenario.points.map((point) => ({
    ...viewOf(point),
    trials,
    source,
    references: Object.fromEntries(references.map((reference) => [keyOf(reference), reference])),
  }));
  const found = field
    .split(".")
    .reduce<readonly unknown[]>((values, key) => values.flatMap((value) => enter(value, key)), roots);
  return [...new Set(found.flatMap(leaf))];
}

/** A list of names, such as the creation order of pods, is one text. */
function leaf(value: unknown): (number | string)[] {
  if (Array.isArray(value)) return [value.map(String).join(", ")];
  return typeof value === "number" || typeof value === "string" ? [value] : [];
}

/** The point with names instead of positions, without round trips of a node to itself. */
function viewOf({ cluster, workflow, load }: Point): object {
  const names = cluster.nodes.map(({ name }) => name);
  const row = (at: number): object =>
    Object.fromEntries(
      names.flatMap((name, to) => (to === at ? [] : [[name, cluster.rttMs[at]![to]] as const])),
    );
  const workloads = workflow.workloads.map((workload) => ({
    ...workload,
    calls: Object.fromEntries(workload.calls.map((call) => [call.callee, call])),
  }));
  return {
    cluster: {
      nodes: byName(cluster.nodes),
      rttMs: Object.fromEntries(names.map((name, at) => [name, row(at)])),
    },
    workflow: { ...workflow, workloads: byName(workloads) },
    load,
  };
}

function byName<T extends { readonly name: string }>(items: readonly T[]): Readonly<Record<string, T>> {
  return Object.fromEntries(items.map((item) => [item.name, item]));
}

function enter(value: unknown, key: string): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (key === "*") return Object.values(value);
  if (key === "names") return Object.keys(value);
  if (key === "count") return [Object.keys(value).length];
  return [(value as Readonly<Record<string, unknown>>)[key]];
}
