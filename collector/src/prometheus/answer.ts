import { isList, isRecord, looseFields, parseJson } from "@isochrone/primitives";
import { PrometheusError } from "./errors.ts";

/** Samples as scraped, oldest first. */
export interface RawSeries {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly RawSample[];
}

export interface RawSample {
  readonly timeMs: number;
  readonly value: number;
}

export interface Answer {
  readonly series: readonly RawSeries[];
  readonly unreadable: number;
  readonly warnings: readonly string[];
}

interface AnswerTimes {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Tolerance for clock differences of servers and federated queriers. */
const TIME_SLACK_MS = 1_000;
const MAX_WARNINGS = 10;

/** Throws PrometheusError `malformed` unless it answers a range selector. */
export function readAnswer(body: string, server: string, times: AnswerTimes): Answer {
  let parsed: unknown;
  try {
    parsed = parseJson(body);
  } catch (cause) {
    throw malformed(server, `JSON, got ${body.length} characters that are none`, cause);
  }
  const { status, data, warnings } = looseFields<Record<"status" | "data" | "warnings", unknown>>(parsed);
  if (status !== "success") throw malformed(server, `status success, got ${shown(status)}`);
  const { resultType, result } = looseFields<Record<"resultType" | "result", unknown>>(data);
  if (resultType !== "matrix" || !isList(result))
    throw malformed(server, `a matrix, got ${shown(resultType)}`);
  const series: RawSeries[] = [];
  let unreadable = 0;
  for (const entry of result) {
    const { metric, values } = looseFields<Record<"metric" | "values", unknown>>(entry);
    const labels = labelsOf(metric);
    if (labels === null || !isList(values)) {
      unreadable++;
      continue;
    }
    const { __name__: name, ...others } = labels;
    const samples = samplesOf(values, times);
    unreadable += values.length - samples.length;
    if (name === undefined) unreadable++;
    else if (samples.length > 0) series.push({ metric: name, labels: others, samples });
  }
  return { series, unreadable, warnings: warningsOf(warnings) };
}

/** Strictly increasing in time. Values are counters or bytes, so never negative. */
function samplesOf(values: readonly unknown[], { fromMs, toMs }: AnswerTimes): RawSample[] {
  const samples: RawSample[] = [];
  let lastMs = fromMs - TIME_SLACK_MS;
  for (const entry of values) {
    if (!isList(entry)) continue;
    const [seconds, text] = entry;
    if (typeof seconds !== "number" || typeof text !== "string" || text.trim() === "") continue;
    const timeMs = Math.round(seconds * 1000);
    const value = Number(text);
    if (!(timeMs > lastMs && timeMs <= toMs + TIME_SLACK_MS) || !(value >= 0 && value < Infinity)) continue;
    samples.push({ timeMs, value });
    lastMs = timeMs;
  }
  return samples;
}

function warningsOf(warnings: unknown): string[] {
  return Array.isArray(warnings) ? warnings.slice(0, MAX_WARNINGS).map(String) : [];
}

function labelsOf(metric: unknown): Record<string, string> | null {
  if (!isRecord(metric)) return null;
  const labels: Record<string, string> = {};
  for (const [name, value] of Object.entries(metric)) {
    if (typeof value !== "string") return null;
    labels[name] = value;
  }
  return labels;
}

function malformed(server: string, rule: string, cause?: unknown): PrometheusError {
  return new PrometheusError("malformed", `${server} must answer with ${rule}`, { cause });
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? "nothing").slice(0, 100);
}
