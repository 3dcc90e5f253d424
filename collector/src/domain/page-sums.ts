// Sums rows to cumulative series: a series only falls when all its rows restarted.
import { bucketCountsOf } from "./buckets.ts";
import { startIsTold } from "./families.ts";
import { PART, type RowTable } from "./row-table.ts";
import { KIND, kindOfOwner, type Kind, type TargetMemory } from "./target-memory.ts";

export interface SumFaults {
  readonly incompleteHistograms: number;
  readonly unusableValues: number;
}

interface PageSums extends SumFaults {
  readonly podSeries: number;
}

/** Rows from `rowsBefore` and series from `seriesBefore` on are new. An unusable row counts as absent. */
export function sumPage(memory: TargetMemory, rowsBefore: number, seriesBefore: number): PageSums {
  const { rows, series } = memory;
  const faults = { incompleteHistograms: 0, unusableValues: 0, podSeries: 0 };
  series.beginSums();
  for (let row = 0; row < rows.keys.size; row++) {
    const kind = kindOfOwner(rows.keys.ownerOf(row));
    if (rows.parts[row] !== 0 && !isUsable(memory, row, kind)) {
      rows.parts[row] = 0;
      if (kind === KIND.histogram) faults.incompleteHistograms++;
      else faults.unusableValues++;
    }
    if (kind !== KIND.gauge && row < rowsBefore) followRow(memory, row);
    if (rows.parts[row] === 0) continue;
    if (kind === KIND.counter && row >= rowsBefore) beginRow(memory, row, seriesBefore);
    if (kind !== KIND.gauge || takesPlace(memory, row)) addRow(memory, row);
  }
  for (let slot = 0; slot < series.keys.size; slot++) {
    if (series.rows[slot] === 0) continue;
    faults.podSeries += series.ofPod[slot]!;
    closeSeries(memory, slot, slot >= seriesBefore);
  }
  return faults;
}

function isUsable(memory: TargetMemory, row: number, kind: Kind): boolean {
  const { rows } = memory;
  const a = rows.a[row]!;
  if (kind === KIND.gauge) return Number.isFinite(a);
  if (kind === KIND.counter) return Number.isFinite(a) && a >= 0;
  const complete = (rows.parts[row]! & PART.both) === PART.both;
  return (
    complete && Number.isSafeInteger(a) && a >= 0 && Number.isFinite(rows.b[row]!) && takeBuckets(memory, row)
  );
}

function takeBuckets({ rows, series }: TargetMemory, row: number): boolean {
  const cumulative = rows.buckets.get(row);
  if (cumulative === undefined) return true;
  const counts = bucketCountsOf(cumulative, rows.a[row]!);
  if (counts !== null) series.buckets.set(rows.series[row]!, counts);
  return counts !== null;
}

function goesOn(rows: RowTable, row: number): boolean {
  if (rows.parts[row] === 0 || rows.a[row]! < rows.lastA[row]! || rows.b[row]! < rows.lastB[row]!)
    return false;
  return !(rows.createdMs[row]! > rows.lastCreatedMs[row]!);
}

function followRow(memory: TargetMemory, row: number): void {
  const { rows, series, startTimes } = memory;
  if (startTimes.beganAnew || !goesOn(rows, row)) addLost(memory, row);
  else series.continuing[rows.series[row]!]!++;
}

function addLost({ rows, series }: TargetMemory, row: number): void {
  const into = rows.series[row]!;
  series.lostA[into]! += rows.lastA[row]!;
  series.lostB[into]! += rows.lastB[row]!;
}

/** A row joining a series brings its earlier count, none of which happened since the previous page. */
function beginRow({ rows, series, families }: TargetMemory, row: number, seriesBefore: number): void {
  const into = rows.series[row]!;
  if (into < seriesBefore && !startIsTold(families[rows.keys.ownerOf(row) >> 2]!.name))
    series.lostA[into]! -= rows.a[row]!;
}

/**
 * Among containers of one name only the newest counts. Returns false for an older one; a newer one removes
 * the others' share. Without timestamps the later row is newer.
 */
function takesPlace({ rows, series, families }: TargetMemory, row: number): boolean {
  const into = rows.series[row]!;
  const isLatest = families[rows.keys.ownerOf(row) >> 2]!.reduction?.isLatest === true;
  if (!isLatest || series.rows[into] === 0) return true;
  if (rows.timeMs[row]! < series.timeMs[into]!) return false;
  series.sumA[into] = 0;
  return true;
}

function addRow({ rows, series }: TargetMemory, row: number): void {
  const into = rows.series[row]!;
  series.rows[into]!++;
  series.sumA[into]! += rows.a[row]!;
  series.sumB[into]! += rows.b[row]!;
  series.timeMs[into] = Math.max(series.timeMs[into]!, rows.timeMs[row]!);
  // NaN (unknown) wins.
  series.createdMs[into] = Math.min(series.createdMs[into]!, rows.createdMs[row]!);
}

function closeSeries({ series, startTimes, families }: TargetMemory, slot: number, isNew: boolean): void {
  const owner = series.keys.ownerOf(slot);
  if (series.continuing[slot] === 0) {
    series.baseA[slot] = 0;
    series.baseB[slot] = 0;
    series.totalA[slot] = series.sumA[slot]!;
    series.totalB[slot] = series.sumB[slot]!;
    const told = kindOfOwner(owner) !== KIND.gauge && startIsTold(families[owner >> 2]!.name);
    series.startMs[slot] = !told
      ? 0
      : isNew
        ? startTimes.ofNew(series.createdMs[slot]!)
        : startTimes.ofReset();
    return;
  }
  series.baseA[slot]! += series.lostA[slot]!;
  series.baseB[slot]! += series.lostB[slot]!;
  // Summation order changes the last bit, which must not look like a reset.
  series.totalA[slot] = Math.max(series.totalA[slot]!, series.baseA[slot]! + series.sumA[slot]!);
  series.totalB[slot] = Math.max(series.totalB[slot]!, series.baseB[slot]! + series.sumB[slot]!);
}
