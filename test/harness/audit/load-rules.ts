import type { Statement } from "@isochrone/cli/testing";
import { upperMedian } from "@isochrone/primitives";
import type { TimelinePoint } from "../lab-record.ts";
import type { Verdict } from "./findings.ts";

type Stated<K extends Statement["kind"]> = Extract<Statement, { kind: K }>;
type Figure = "p50Ms" | "p95Ms";

/** The percentile of a longer period lies between those of its parts. Allow one bucket width for rounding. */
const SHARE = 0.1;
const SLACK_MS = 5;
/** A statement covers the requests of the preceding 150 s. */
const ABOUT_MS = 150_000;
/** Below this number, a quantile is just one of the requests. */
const MIN_REQUESTS = 10;

export function figureIsTrue(
  figure: Figure,
  stated: number | null,
  points: readonly TimelinePoint[],
  atMs: number,
): Verdict {
  if (stated === null) return null;
  const about = points.filter(
    ({ at, requests }) => requests > 0 && Math.abs(atMs - Date.parse(at)) <= ABOUT_MS,
  );
  if (about.length === 0) return `the load recorded no request, ${figure} ${stated} ms is stated`;
  // Parts with too few requests for a p95 bound it from below by their median, and not from above.
  const low = Math.min(...about.map((point) => point[figure] ?? point.p50Ms ?? 0));
  const high = Math.max(...about.map((point) => point[figure] ?? Infinity));
  if (stated >= (1 - SHARE) * low - SLACK_MS && stated <= (1 + SHARE) * high + SLACK_MS) return null;
  return `the load recorded a ${figure} of ${low.toFixed(0)} to ${high.toFixed(0)} ms, ${stated} ms is stated`;
}

export function moveMeasuredIsTrue(
  said: Stated<"moveMeasured">,
  points: readonly TimelinePoint[],
  atMs: number,
): Verdict {
  const figures = [
    ["p50Ms", said.p50Ms.before],
    ["p50Ms", said.p50Ms.after],
    ["p95Ms", said.p95Ms.before],
    ["p95Ms", said.p95Ms.after],
  ] as const;
  for (const [figure, stated] of figures) {
    const verdict = figureIsTrue(figure, stated, points, atMs);
    if (verdict !== null) return verdict;
  }
  return failedShareIsTrue(said.failed.after, points, atMs);
}

/** A statement of no failed requests requires that none failed. */
function failedShareIsTrue(percent: number | null, points: readonly TimelinePoint[], atMs: number): Verdict {
  if (percent === null) return null;
  const shares = points
    .filter(({ at }) => Math.abs(atMs - Date.parse(at)) <= ABOUT_MS)
    .map(({ requests, errors }) => (100 * errors) / Math.max(1, requests + errors));
  const most = Math.max(0, ...shares);
  return percent <= most + 10
    ? null
    : `${percent} % are said to have failed, the load recorded at most ${most.toFixed(0)} %`;
}

export function verdictIsSame(row: Stated<"verdict">, placed: Stated<"placed"> | null): Verdict {
  if (placed === null) return `nothing was measured of "${row.act}"`;
  const names = ["p50Ms", "p95Ms", "networkMs"] as const;
  const other = names.find((name) => placed[name] !== row[name]);
  return other === undefined
    ? null
    : `${other} was ${placed[other]} when it was measured, and is ${row[other]}`;
}

/**
 * A busy machine adds network time; the act must then be marked as doubtful.
 * @param trueMs minimum and maximum by the emulator
 */
export function networkTimeIsTrue(
  statedMs: number | null,
  trueMs: { readonly low: number; readonly high: number },
  isClaimed: boolean,
): Verdict {
  if (statedMs === null) return null;
  const [low, high] = [(isClaimed ? 0.85 : 0.5) * trueMs.low - 15, 1.25 * trueMs.high + 25];
  if (statedMs >= low && (!isClaimed || statedMs <= high)) return null;
  return `by the emulator it is ${trueMs.low.toFixed(0)} to ${trueMs.high.toFixed(0)} ms, ${statedMs} ms is stated`;
}

/** Allows 15 percentage points. @param actMs emulated times per act, starting with the baseline act */
export function networkSavingIsTrue(
  { act, networkPercent: percent }: Pick<Stated<"verdict">, "act" | "networkPercent">,
  actMs: ReadonlyMap<string, number>,
): Verdict {
  const [firstMs] = actMs.values();
  const ownMs = actMs.get(act);
  if (percent === null || firstMs === undefined || ownMs === undefined) return null;
  const truePercent = (100 * (ownMs - firstMs)) / firstMs;
  return Math.abs(truePercent - percent) <= 15 && Math.sign(truePercent) === Math.sign(percent)
    ? null
    : `by the emulator ${truePercent.toFixed(0)} %, from ${firstMs.toFixed(0)} to ${ownMs.toFixed(0)} ms`;
}

/** Returns the median p95 of the points in a period. Returns null if there were too few requests. */
export function p95Between(points: readonly TimelinePoint[], fromMs: number, toMs: number): number | null {
  const found = points
    .filter(({ at, requests }) => {
      const when = Date.parse(at);
      return when >= fromMs && when <= toMs && requests >= MIN_REQUESTS;
    })
    .flatMap(({ p95Ms }) => p95Ms ?? []);
  return upperMedian(found);
}
