// Distance of placements from the optimum, in figures that need no run.
import type { ContenderId, Scenario } from "../scenario/model.ts";
import { mean } from "../statistics/mean.ts";
import type { Analysis, PointAnalysis } from "./analysis.ts";
import { count, percent } from "./format.ts";
import { html, table } from "./html.ts";
import type { Html } from "./html.ts";

const WITHIN = 0.05;
/** Tolerance for sums in another order. */
const ROUNDING = 1e-9;
const NOTHING = "\u2013";

/** Returns null if the optimum shares no points with the others. */
export function optimumSection(scenario: Scenario, analysis: Analysis): Html | null {
  const standing = analysis.standings.find(({ contenders }) => contenders.includes("optimum"));
  if (standing === undefined) return null;
  const points = analysis.points.filter(({ id }) => standing.points.includes(id));
  const rows = standing.contenders
    .filter((contender) => contender !== "optimum")
    .map((contender) => optimumRow(contender, points));
  if (points.length === 0 || rows.length === 0) return null;
  const moves = scenario.points.some(({ id, changes }) => changes.length > 0 && standing.points.includes(id));
  return html`${table(
      `Traffic cost of the final placement (bytes per second times round trip, those of the users with it where they come in at a node) above that of the optimum's, over the ${count(points.length, "point")} of ${analysis.points.length} at which integer programming solved and all others have a placement`,
      ["contender", "below the optimum's", "0 to 5 % above", "further above", "mean of all", "most"],
      rows,
    )}
    <p>
      The integer program makes the planner's whole cost least: traffic cost, pressure (nodes that get full)
      and overload, together. Its placement need not be the least in traffic cost alone, and a contender below
      it is not better than an optimum. ${ofThoseThat(scenario)}
      ${moves ? "It counts nothing for moving pods: where the traffic or the cluster changes while it is measured, its moves may cost more response time than they save." : null}
      ${points.some(costsNothing) ? "The mean leaves out points at which the optimum's traffic costs nothing: above nothing there are no shares." : null}
    </p>`;
}

function ofThoseThat({ contenders }: Scenario): string {
  const others = contenders.filter((id) => id !== "optimum" && !keepsRules(id));
  return [
    contenders.some(keepsRules) ? "Isochrone keeps the optimum's rules of availability." : "",
    others.length === 0
      ? ""
      : `${others.join(", ")} keep${others.length === 1 ? "s" : ""} fewer: pods of a workload that may be together cost less traffic.`,
  ].join(" ");
}

/** Availability rules: minimum numbers of nodes and zones per workload. */
function keepsRules(contender: ContenderId): boolean {
  return contender === "isochrone";
}

function optimumRow(contender: ContenderId, points: readonly PointAnalysis[]): (string | number)[] {
  const found = points.map((point) => aboveOf(point, contender));
  const below = found.filter((above) => above < -ROUNDING);
  const within = found.filter((above) => above >= -ROUNDING && above <= WITHIN).length;
  // Uses the same points for all contenders: those where the optimum's cost isn't 0.
  const shares = points.filter((point) => !costsNothing(point)).map((point) => aboveOf(point, contender));
  const why = keepsRules(contender) ? "same rules, at the other costs' expense" : "keeps fewer rules";
  return [
    contender,
    below.length === 0 ? 0 : `${below.length}, down to ${percent(Math.min(...below))}: ${why}`,
    within,
    found.length - below.length - within,
    shares.length === 0 ? NOTHING : percent(mean(shares), true),
    percent(Math.max(...found), true),
  ];
}

/** Every contender has a value at points of the optimum's standing. */
function aboveOf({ contenders }: PointAnalysis, contender: ContenderId): number {
  return contenders.find((each) => each.contender === contender)?.aboveOptimum ?? Number.NaN;
}

function costsNothing({ contenders }: PointAnalysis): boolean {
  return contenders.find(({ contender }) => contender === "optimum")?.measured?.trafficCost === 0;
}
