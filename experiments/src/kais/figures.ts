// Ratios and losses of results.
import { changeOf } from "../frame/figures.ts";
import { hasLabels } from "../scenario/axes.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import type { KaisContender } from "./contenders.ts";
import type { KaisResult } from "./cells.ts";
import type { KaisClaim, KaisPoint, KaisScenario } from "./scenario.ts";

/** Whom the report is about. */
export const FOCUS: KaisContender = "isochrone";
type FigureKey = "inTime" | "movedGb";

/** One contender's figure in times of another one's, with equal requests paired; null without both. */
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

/** A point at which the focus has fewer requests in time than another contender, or moves more. */
interface Loss {
  readonly point: KaisPoint;
  readonly contender: KaisContender;
  readonly inTime: Estimate;
  readonly movedGb: Estimate;
}

/** Where Isochrone does not help: fewer in time, or more bytes without at least as many in time more. */
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

/** The ratio at each point that a claim is about, and whether it is where the claim has it. */
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
