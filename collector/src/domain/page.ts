// Converts a scraped page to OTLP records like the OpenTelemetry Collector's Prometheus receiver: counters as
// cumulative monotonic sums, histograms, the rest gauges; reduced to what graphs use.
import {
  AttributeBytes,
  isKeptUsage,
  type AttributeKey,
  type Attributes,
  type KeptLabel,
  type LabelLookup,
  type UsageRow,
} from "@isochrone/telemetry";
import { recordOf } from "@isochrone/primitives";
import { BYTE } from "./bytes.ts";
import { CanonicalText } from "./canonical-text.ts";
import { DEFAULT_LIMITS, type ExpositionVisitor, type FamilyType, type PageFormat } from "./exposition.ts";
import type { LabelShape } from "./label-shape.ts";
import { BUCKET_LABEL } from "./label-shape.ts";
import { LABEL_RULES, LabelSet } from "./label-set.ts";
import { readNumber } from "./number-text.ts";
import { sumPage, type SumFaults } from "./page-sums.ts";
import { writeRecords } from "./page-records.ts";
import type { PageScope, RowRefusal } from "./page-scope.ts";
import { MAX_SERIES_BYTES, RowJudge } from "./row-judge.ts";
import { PART, UNUSED_ROWS, type UnusedRow } from "./row-table.ts";
import { guessLabelsEnd, SampleValue } from "./sample-value.ts";
import {
  attributeFieldOf,
  isPagePart,
  KIND,
  type FamilyMemory,
  type Kind,
  type Part,
  type TargetMemory,
  type WantedName,
} from "./target-memory.ts";

/** Timestamps further from the scrape are replaced by the scrape's time. */
const MAX_TIMESTAMP_DISTANCE_MS = 600_000;

const NOT_KEPT = -2;

interface PageOptions {
  readonly scrapeMs: number;
  readonly maxSamples: number;
  readonly format?: PageFormat;
  /** Owners whose traffic the page may report; null: anyone. @default null */
  readonly scope?: PageScope | null;
  readonly maxSeries?: number;
}

export interface PageResult extends SumFaults {
  readonly records: readonly Uint8Array[];
  /** Missing part of pods' usage; null if complete. */
  readonly lack: PageLack | null;
}

/** Why a usage page lacks pods: it reports a partial failure, has unnamed pods, or no pods. */
export type PageLack = "scrape_error" | "unnamed_pods" | "no_pods";

/** Collects wanted samples of a page. End with `finish`, or `discard` to restore the target's memory. */
export class PageBuilder implements ExpositionVisitor<WantedName, FamilyMemory> {
  readonly #memory: TargetMemory;
  readonly #options: PageOptions;
  readonly #types: (FamilyType | undefined)[] = [];
  readonly #kinds: (Kind | undefined)[];
  readonly #labels = new LabelSet(DEFAULT_LIMITS.maxLabels);
  readonly #value: SampleValue;
  readonly #attributes = new AttributeBytes();
  readonly #canonical = new CanonicalText();
  readonly #judge: RowJudge;
  readonly #maxSeries: number;
  readonly #rowsBefore: number;
  readonly #seriesBefore: number;
  #shape: LabelShape | null = null;
  #row = NOT_KEPT;
  #lastRow = -1;
  #samples = 0;
  /** Samples in no record, except unwanted metrics, which the reader counts. */
  readonly unused: Record<UnusedRow, number> = recordOf(UNUSED_ROWS, () => 0);
  #hasScrapeError = false;
  #unnamedPods = 0;
  #usageRow: UsageRow = "part";

  constructor(memory: TargetMemory, options: PageOptions) {
    this.#memory = memory;
    this.#options = options;
    this.#value = new SampleValue(options.format ?? "text");
    this.#judge = new RowJudge(options.scope ?? null);
    this.#maxSeries = options.maxSeries ?? options.maxSamples;
    this.#kinds = memory.families.map(() => undefined);
    this.#rowsBefore = memory.rows.keys.size;
    this.#seriesBefore = memory.series.keys.size;
    memory.rows.begin();
    memory.startTimes.begin(options.scrapeMs);
  }

  get samples(): number {
    return this.#samples;
  }

  /** Refused rows count too, because they cost reading time. */
  get tooMany(): boolean {
    return this.#samples + this.#judge.refused > this.#options.maxSamples;
  }

  get judge(): RowJudge {
    return this.#judge;
  }

  find(view: DataView, start: number, end: number): WantedName | null {
    return this.#memory.find(view, start, end);
  }

  findFamily(view: DataView, start: number, end: number): FamilyMemory | null {
    return this.#memory.findFamily(view, start, end);
  }

  type(family: FamilyMemory, type: FamilyType): void {
    this.#types[family.index] = type;
  }

  sample(name: WantedName, bytes: Uint8Array, view: DataView, start: number, end: number): string | null {
    const { family, part } = name;
    const kind = isPagePart(part) ? KIND.gauge : this.#kindOf(family);
    if (!belongs(part, kind)) {
      this.unused.not_a_value++;
      return null;
    }
    const after = this.#findRow(name, kind, bytes, view, start, end);
    if (after < 0) return this.#labels.fault;
    const rule = this.#value.read(bytes, after, end);
    if (rule !== null) return rule;
    if (part === "processStart") this.#memory.startTimes.process(this.#value.value * 1000);
    else if (part === "scrapeError") this.#hasScrapeError ||= this.#value.value !== 0;
    else if (this.#row >= 0) this.#store(part, kind);
    return null;
  }

  /** Builds the records; call once after the whole page. */
  finish(resource: Attributes): PageResult {
    const { rows, series, startTimes } = this.#memory;
    const { podSeries, ...faults } = sumPage(this.#memory, this.#rowsBefore, this.#seriesBefore);
    const records = writeRecords(this.#memory, resource);
    rows.close(series.retainLive());
    startTimes.end();
    return { records, ...faults, lack: this.#lackOf(podSeries) };
  }

  #lackOf(podSeries: number): PageLack | null {
    if (!this.#memory.hasPods) return null;
    if (this.#hasScrapeError) return "scrape_error";
    if (this.#unnamedPods > 0) return "unnamed_pods";
    return podSeries === 0 ? "no_pods" : null;
  }

  discard(): void {
    this.#memory.rows.keys.truncate(this.#rowsBefore);
    this.#memory.series.keys.truncate(this.#seriesBefore);
  }

  #kindOf(family: FamilyMemory): Kind {
    return (this.#kinds[family.index] ??= kindOf(family, this.#types[family.index]));
  }

  /** Sets `#row`. @returns the offset after the labels, -1 if malformed */
  #findRow(
    { family, part }: WantedName,
    kind: Kind,
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
  ): number {
    if (part !== "bucket" && !isPagePart(part)) {
      const guess = guessLabelsEnd(bytes, start, end);
      if (guess >= 0 && this.#isExpected(family.owner(kind), view, start, guess)) return guess;
    }
    const after = this.#readLabels(family, bytes, view, start, end);
    if (after < 0) return after;
    this.#row =
      isPagePart(part) || !this.#isKept(family)
        ? NOT_KEPT
        : this.#openRow(family, kind, bytes, view, start, after);
    if (this.#row >= 0) this.#lastRow = this.#row;
    return after;
  }

  /** Pages keep their row order: tries the last row (another part of a histogram) and the next. */
  #isExpected(owner: number, view: DataView, start: number, end: number): boolean {
    const { keys } = this.#memory.rows;
    const last = this.#lastRow;
    if (keys.isAt(last + 1, owner, view, start, end)) this.#lastRow = last + 1;
    else if (!keys.isAt(last, owner, view, start, end)) return false;
    this.#row = this.#lastRow;
    return true;
  }

  #readLabels(family: FamilyMemory, bytes: Uint8Array, view: DataView, start: number, end: number): number {
    const labels = this.#labels;
    let after = start;
    if (bytes[start] === BYTE.openBrace && start < end) {
      after = labels.read(bytes, view, start, end, family.shapes.last);
      if (after < 0) return -1;
    } else labels.clear();
    this.#shape = family.shapes.of(labels);
    if (this.#shape !== null) return after;
    labels.fault = LABEL_RULES.twice;
    return -1;
  }

  readonly #label: LabelLookup = (name) => {
    const position = this.#shape!.positions.get(name);
    return position === undefined ? "" : this.#labels.value(position);
  };

  #isKept({ name, reduction }: FamilyMemory): boolean {
    const isKept = this.#isKeptRow(reduction);
    if (!isKept) this.unused.not_needed++;
    if (!isKept || reduction?.usageRow !== undefined) return isKept;
    return this.#judge.admits(name, this.#label);
  }

  #isKeptRow(reduction: FamilyMemory["reduction"]): boolean {
    if (reduction?.usageRow === undefined) return reduction?.keeps(this.#label) ?? true;
    this.#usageRow = reduction.usageRow(this.#label);
    if (this.#usageRow === "unnamed") this.#unnamedPods++;
    return isKeptUsage(this.#usageRow);
  }

  #openRow(
    family: FamilyMemory,
    kind: Kind,
    bytes: Uint8Array,
    view: DataView,
    start: number,
    end: number,
  ): number {
    const { rows } = this.#memory;
    const owner = family.owner(kind);
    const shape = this.#shape!;
    if (this.#labels.plain && shape.canonical) {
      const known = rows.keys.find(owner, view, start, end);
      if (known >= 0) return known;
      const series = this.#openSeries(family, kind, bytes);
      return series < 0 ? NOT_KEPT : rows.add(owner, bytes, start, end, series);
    }
    const text = this.#canonical.of(this.#labels, shape, bytes);
    const known = rows.keys.find(owner, text.view, 0, text.end);
    if (known >= 0) return known;
    const series = this.#openSeries(family, kind, bytes);
    return series < 0 ? NOT_KEPT : rows.add(owner, text.bytes, 0, text.end, series);
  }

  #openSeries(family: FamilyMemory, kind: Kind, bytes: Uint8Array): number {
    const attributes = this.#attributes;
    attributes.begin(attributeFieldOf(kind));
    const kept = family.reduction?.labels ?? null;
    if (kept === null) this.#addAll(bytes);
    else for (const [index, label] of kept.entries()) this.#addKept(label, family.keys[index]!, bytes);
    const { series } = this.#memory;
    const owner = family.owner(kind);
    const { view, end } = attributes;
    if (end > MAX_SERIES_BYTES) return this.#refuse("too_large", family);
    if (series.keys.size >= this.#maxSeries && series.keys.find(owner, view, 0, end) < 0)
      return this.#refuse("too_many", family);
    const isOfPod = family.reduction?.usageRow !== undefined && this.#usageRow === "pod";
    return series.open(owner, view, attributes.bytes, end, isOfPod);
  }

  #refuse(reason: RowRefusal, { name }: FamilyMemory): -1 {
    this.#judge.refuse(reason, name, this.#label);
    return -1;
  }

  #addKept({ name, derive }: KeptLabel, key: AttributeKey, bytes: Uint8Array): void {
    if (derive === undefined) {
      const position = this.#shape!.positions.get(name);
      if (position !== undefined) this.#addLabel(key, bytes, position);
      return;
    }
    const value = derive(this.#label);
    if (value !== "") this.#attributes.addText(key, value);
  }

  #addAll(bytes: Uint8Array): void {
    const { order, keys } = this.#shape!;
    for (const position of order) this.#addLabel(keys[position]!, bytes, position);
  }

  /** An empty label equals none in Prometheus' model. */
  #addLabel(key: AttributeKey, bytes: Uint8Array, position: number): void {
    const labels = this.#labels;
    const start = labels.valueStart(position);
    const end = labels.valueEnd(position);
    if (labels.isEscaped(position)) this.#attributes.addText(key, labels.value(position));
    else if (end > start) this.#attributes.add(key, bytes, start, end);
  }

  #store(part: Part, kind: Kind): void {
    const { rows } = this.#memory;
    const row = this.#row;
    const { value } = this.#value;
    if (part === "created") {
      rows.createdMs[row] = value * 1000;
      return;
    }
    if (++this.#samples > this.#options.maxSamples) return;
    rows.timeMs[row] = this.#believableTime();
    const given = part === "sum" ? PART.b : part === "bucket" ? 0 : PART.a;
    if ((rows.parts[row]! & given) !== 0) this.unused.repeated++;
    if (kind !== KIND.histogram || part === "count") {
      rows.a[row] = value;
      if (kind !== KIND.histogram) rows.b[row] = 0;
      rows.parts[row]! |= PART.a;
    } else if (part === "sum") {
      rows.b[row] = value;
      rows.parts[row]! |= PART.b;
    } else this.#storeBucket(row, value);
  }

  #storeBucket(row: number, cumulative: number): void {
    const { buckets } = this.#memory.rows;
    const le = Buffer.from(this.#label(BUCKET_LABEL));
    const bound = readNumber(le, 0, le.length) ?? NaN;
    this.#memory.rows.parts[row]! |= PART.bucket;
    let known = buckets.get(row);
    if (known === undefined) buckets.set(row, (known = { bounds: [], cumulative: [] }));
    known.bounds.push(bound);
    known.cumulative.push(cumulative);
  }

  #believableTime(): number {
    const { timestampMs } = this.#value;
    const { scrapeMs } = this.#options;
    return Math.abs(timestampMs - scrapeMs) <= MAX_TIMESTAMP_DISTANCE_MS ? timestampMs : scrapeMs;
  }
}

/** True if a sample of this part is used for the kind; a summary's quantiles aren't. */
function belongs(part: Part, kind: Kind): boolean {
  if (isPagePart(part)) return true;
  if (part === "created") return kind !== KIND.gauge;
  return (part === "value") === (kind !== KIND.histogram);
}

/** A summary is a histogram without buckets. */
function kindOf({ name, reduction }: FamilyMemory, declared: FamilyType | undefined): Kind {
  const told = declared === undefined || declared === "untyped" ? reduction?.type : declared;
  if (told === undefined) return name.endsWith("_total") ? KIND.counter : KIND.gauge;
  if (told === "histogram" || told === "summary") return KIND.histogram;
  return told === "counter" ? KIND.counter : KIND.gauge;
}
