import { changeOf } from "../frame/figures.ts";
import { hasLabels } from "../scenario/axes.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import type { KaisContender } from "./contenders.ts";
import type { KaisResult } from "./cells.ts";
import type { KaisClaim, KaisPoint, KaisScenario } from "./scenario.ts";

export const FOCUS: KaisContender = "isochrone";
type FigureKey = "inTime" | "movedGb";

/** Ratio of two contenders' figures, paired by requests; null without both. */
export function ratioOf(
  results: readonly KaisResult[],
  point: string,
  key: FigureKey,
  of: KaisContender,
  than: KaisContender,
): Estimate | null {
  const change = changeOf(results, point, key, of, than);
  if (change === null) return null;
  const { mean, low, high, n } = change;
  return { mean: 1 + mean, low: 1 + low, high: 1 + high, n };
}

/** A point at which the focus has fewer requests in time or moves more bytes than another contender. */
interface Loss {
  readonly point: KaisPoint;
  readonly contender: KaisContender;
  readonly inTime: Estimate;
  readonly movedGb: Estimate;
}

/** Points with fewer requests in time, or more bytes without a gain that is at least as large. */
export function lossesOf({ contenders, points }: KaisScenario, results: readonly KaisResult[]): Loss[] {
  return points.flatMap((point) =>
    contenders.flatMap((contender) => {
      if (contender === FOCUS || contender === "oracle") return [];
      const inTime = ratioOf(results, point.id, "inTime", FOCUS, contender);
      const movedGb = ratioOf(results, point.id, "movedGb", FOCUS, contender);
      if (inTime === null || movedGb === null) return [];
      return inTime.mean < 1 || movedGb.mean > 1 ? [{ point, contender, inTime, movedGb }] : [];
    }),
  );
}

export function judgeClaim(
  { points }: KaisScenario,
  results: readonly KaisResult[],
  { figure, of, than, least, most, where }: KaisClaim,
): { readonly ratios: readonly Estimate[]; readonly held: number } {
  const ratios = points
    .filter(({ labels }) => hasLabels(labels, where))
    .flatMap(({ id }) => ratioOf(results, id, figure, of, than) ?? []);
  const held = ratios.filter(({ mean }) => mean >= (least ?? 0) && mean <= (most ?? Infinity));
  return { ratios, held: held.length };
}
