// What `isochrone up` shows, act by act.
import type { EndToEnd } from "@isochrone/lab";

/**
 * `spread`: placed without knowledge of the network; `score`: anew, pod by pod; `plan`: anew, the workflow as
 * a whole; `live`: whatever comes.
 */
export const ACTS = ["spread", "score", "plan", "live"] as const;
export type Act = (typeof ACTS)[number];
/** Acts that place the workflow. */
export type PlacingAct = Exclude<Act, "live">;

/** What users experienced of a placement, and what the network took of it. */
interface ActFigures {
  readonly endToEnd: EndToEnd;
  /** Round trips of all calls that a request causes, as the graphs have them; null: not known. */
  readonly networkMsPerRequest: number | null;
  /** Why the end-to-end figures say little about the placement; null: they do say it. */
  readonly doubt: string | null;
}

export interface ActResult extends ActFigures {
  readonly act: PlacingAct;
}

/** Why these acts can't be played; null: they can. */
export function actsMistake(acts: readonly Act[]): string | null {
  const shown = acts.join(" ");
  const [first] = acts;
  if (first !== "spread" && first !== "score") return `--acts must begin with spread or score, got ${shown}`;
  const isOrdered = acts.every((act, at) => at === 0 || ACTS.indexOf(acts[at - 1]!) < ACTS.indexOf(act));
  return isOrdered ? null : `--acts must be in the order ${ACTS.join(" ")}, each once, got ${shown}`;
}

/** How much less `now` is than `first`, as a share of it; null where one of them says nothing. */
export function savedShare(
  first: ActFigures,
  now: ActFigures,
  figure: "p50Ms" | "p95Ms" | "network",
): number | null {
  const of = ({ endToEnd, networkMsPerRequest }: ActFigures): number | null =>
    figure === "network" ? networkMsPerRequest : endToEnd[figure];
  if (figure !== "network" && (first.doubt ?? now.doubt) !== null) return null;
  const [before, after] = [of(first), of(now)];
  return before === null || after === null || before <= 0 ? null : (before - after) / before;
}
