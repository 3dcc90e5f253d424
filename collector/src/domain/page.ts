// One scraped page -> OTLP metrics, as the OpenTelemetry Collector's Prometheus receiver would emit them: own names and labels,
// counters as cumulative monotonic sums, histograms with explicit bounds, everything else gauges.
import type { HistogramPoint, Metric, NumberPoint } from "@isochrone/telemetry";
import type { ExpositionVisitor, FamilyType, Sample } from "./exposition.ts";
import { familyOf, keepsRow, PROCESS_START, type TargetKind } from "./families.ts";
import type { StartTimes } from "./start-times.ts";

/** Page timestamps further than this from the scrape are not believed; the scrape's own time is taken. */
const MAX_TIMESTAMP_DISTANCE_MS = 600_000;

interface Row {
  readonly attributes: Record<string, string>;
  readonly timeMs: number;
  value: number;
}

interface HistogramRow {
  readonly attributes: Record<string, string>;
  readonly timeMs: number;
  readonly buckets: { bound: number; cumulative: number }[];
  sum: number;
  count: number;
}

interface Family {
  type: FamilyType;
  readonly rows: Map<string, Row>;
  readonly histograms: Map<string, HistogramRow>;
}

/** Counts of what a page had that could not be used. */
export interface PageFaults {
  readonly malformedLines: number;
  readonly firstFault: string | null;
  readonly incompleteHistograms: number;
}

/** Collects the wanted samples of one page. `tooMany` stays true once the limit is passed; later samples are left out. */
export class PageBuilder implements ExpositionVisitor {
  readonly #kind: TargetKind;
  readonly #scrapeMs: number;
  readonly #maxSamples: number;
  readonly #families = new Map<string, Family>();
  readonly #types = new Map<string, FamilyType>();
  #samples = 0;
  #malformed = 0;
  #firstFault: string | null = null;
  #incomplete = 0;
  #processStartMs: number | undefined;

  constructor(kind: TargetKind, scrapeMs: number, maxSamples: number) {
    this.#kind = kind;
    this.#scrapeMs = scrapeMs;
    this.#maxSamples = maxSamples;
  }

  get samples(): number {
    return this.#samples;
  }

  get tooMany(): boolean {
    return this.#samples > this.#maxSamples;
  }

  get faults(): PageFaults {
    return {
      malformedLines: this.#malformed,
      firstFault: this.#firstFault,
      incompleteHistograms: this.#incomplete,
    };
  }

  wants(name: string): boolean {
    return name === PROCESS_START || familyOf(this.#kind, name) !== null;
  }

  type(family: string, type: FamilyType): void {
    if (familyOf(this.#kind, family) !== null || familyOf(this.#kind, `${family}_total`) !== null)
      this.#types.set(family, type);
  }

  malformed(line: number, rule: string): void {
    this.#malformed++;
    this.#firstFault ??= `line ${line}: ${rule}`;
  }

  sample({ name, labels, value, timestampMs }: Sample): void {
    if (name === PROCESS_START) {
      if (Number.isFinite(value) && value > 0 && value * 1000 <= this.#scrapeMs)
        this.#processStartMs = value * 1000;
      return;
    }
    const familyName = familyOf(this.#kind, name);
    if (familyName === null || !keepsRow(this.#kind, labels)) return;
    if (++this.#samples > this.#maxSamples) return;
    const timeMs = this.#believableTime(timestampMs);
    const type = this.#typeOf(familyName);
    const family = this.#family(familyName, type);
    if (type === "histogram" && name !== familyName)
      addToHistogram(family, familyName, name, labels, value, timeMs);
    else addRow(family, labels, value, timeMs);
  }

  /** The page's metrics; call once, after the whole page was read. */
  finish(startTimes: StartTimes): Metric[] {
    startTimes.begin(this.#scrapeMs);
    const metrics: Metric[] = [];
    for (const [name, family] of this.#families) {
      if (family.histograms.size > 0) metrics.push(this.#histogramMetric(name, family, startTimes));
      if (family.rows.size > 0) metrics.push(this.#numberMetric(name, family, startTimes));
    }
    startTimes.end();
    return metrics.filter(({ points }) => points.length > 0);
  }

  #believableTime(timestampMs: number | null): number {
    if (timestampMs === null || Math.abs(timestampMs - this.#scrapeMs) > MAX_TIMESTAMP_DISTANCE_MS)
      return this.#scrapeMs;
    return timestampMs;
  }

  #typeOf(family: string): FamilyType {
    const declared = this.#types.get(family) ?? this.#types.get(family.replace(/_total$/, ""));
    if (declared !== undefined && declared !== "untyped") return declared;
    return family.endsWith("_total") ? "counter" : "gauge";
  }

  #family(name: string, type: FamilyType): Family {
    let family = this.#families.get(name);
    if (family === undefined)
      this.#families.set(name, (family = { type, rows: new Map(), histograms: new Map() }));
    return family;
  }

  #numberMetric(name: string, family: Family, startTimes: StartTimes): Metric {
    const counter = family.type === "counter";
    const points: NumberPoint[] = [];
    for (const [key, row] of family.rows) {
      const startMs = counter ? startTimes.of(`${name}${key}`, row.value, this.#processStartMs) : undefined;
      points.push({
        attributes: row.attributes,
        timeMs: row.timeMs,
        value: row.value,
        ...(startMs === undefined ? {} : { startMs }),
      });
    }
    return counter
      ? { name, unit: unitOf(name), kind: "sum", temporality: "cumulative", monotonic: true, points }
      : { name, unit: unitOf(name), kind: "gauge", points };
  }

  #histogramMetric(name: string, family: Family, startTimes: StartTimes): Metric {
    const points: HistogramPoint[] = [];
    for (const [key, row] of family.histograms) {
      const buckets = differences(row);
      if (buckets === null) {
        this.#incomplete++;
        continue;
      }
      const startMs = startTimes.of(`${name}${key}`, row.count, this.#processStartMs);
      points.push({
        attributes: row.attributes,
        timeMs: row.timeMs,
        count: row.count,
        sum: row.sum,
        ...buckets,
        ...(startMs === undefined ? {} : { startMs }),
      });
    }
    return { name, unit: unitOf(name), kind: "histogram", temporality: "cumulative", points };
  }
}

function unitOf(name: string): string {
  if (/_bytes(_total)?$/.test(name)) return "By";
  return /_seconds(_total)?$/.test(name) ? "s" : "1";
}

function keyOf(labels: ReadonlyMap<string, string>): string {
  let key = "";
  for (const [name, value] of labels) if (name !== "le") key += `\u0001${name}\u0002${value}`;
  return key;
}

function attributesOf(labels: ReadonlyMap<string, string>): Record<string, string> {
  const attributes: Record<string, string> = {};
  // An empty label is the same as none in Prometheus' model.
  for (const [name, value] of labels) if (name !== "le" && value !== "") attributes[name] = value;
  return attributes;
}

function addRow(family: Family, labels: ReadonlyMap<string, string>, value: number, timeMs: number): void {
  const key = keyOf(labels);
  const row = family.rows.get(key);
  if (row === undefined) family.rows.set(key, { attributes: attributesOf(labels), timeMs, value });
  else row.value = value;
}

function addToHistogram(
  family: Family,
  familyName: string,
  name: string,
  labels: ReadonlyMap<string, string>,
  value: number,
  timeMs: number,
): void {
  const key = keyOf(labels);
  let row = family.histograms.get(key);
  if (row === undefined)
    family.histograms.set(
      key,
      (row = { attributes: attributesOf(labels), timeMs, buckets: [], sum: NaN, count: NaN }),
    );
  const part = name.slice(familyName.length + 1);
  if (part === "sum") row.sum = value;
  else if (part === "count") row.count = value;
  else if (part === "bucket") row.buckets.push({ bound: boundOf(labels.get("le")), cumulative: value });
}

function boundOf(le: string | undefined): number {
  return le === "+Inf" ? Infinity : Number(le ?? NaN);
}

/** Cumulative buckets -> counts per bucket; null when the rows of a histogram don't fit together. */
function differences({
  buckets,
  sum,
  count,
}: HistogramRow): { explicitBounds: number[]; bucketCounts: number[] } | null {
  if (!Number.isFinite(sum) || !Number.isSafeInteger(count) || count < 0) return null;
  const finite = buckets.filter(({ bound }) => Number.isFinite(bound)).sort((a, b) => a.bound - b.bound);
  const bucketCounts: number[] = [];
  let before = 0;
  for (const { cumulative } of [...finite, { cumulative: count }]) {
    if (!Number.isSafeInteger(cumulative) || cumulative < before) return null;
    bucketCounts.push(cumulative - before);
    before = cumulative;
  }
  return { explicitBounds: finite.map(({ bound }) => bound), bucketCounts };
}
