import type { CellResult } from "../run/result.ts";
import type { Scenario } from "../scenario/model.ts";
import { mean } from "../statistics/mean.ts";
import { count, figure, labelText } from "./format.ts";
import { table } from "./html.ts";
import type { Html } from "./html.ts";

/** Rounds that make a point worth a row. Two is the minimum to see that nothing changes. */
const LONG_ROUNDS = 6;
const NOTHING = "\u2013";

/** Returns null if no wait was configured or none was long. @param results results of one testbed */
export function steadySection(scenario: Scenario, results: readonly CellResult[]): Html | null {
  const measured = results.filter(({ measured: of }) => (of?.steadyAfterSeconds ?? null) !== null);
  const contenders = scenario.contenders.filter((id) => measured.some(({ contender }) => contender === id));
  const points = [...Map.groupBy(measured, ({ point }) => point).values()];
  const longSeconds = LONG_ROUNDS * scenario.protocol.roundSeconds;
  const rows = points.flatMap((cells) => {
    const seconds = contenders.map((id) =>
      cells.filter(({ contender }) => contender === id).map(({ measured: of }) => of!.steadyAfterSeconds!),
    );
    if (!seconds.some((trials) => trials.length > 0 && mean(trials) > longSeconds)) return [];
    return [[labelText(cells[0]!.labels) || "all", ...seconds.map(spread)]];
  });
  if (rows.length === 0) return null;
  return table(
    `Seconds after the warm-up until response times fell no further, mean over trials (least to most): what it took to work off what the start and moves had left, and no part of what is measured. ${shown(rows.length, points.length, longSeconds)}`,
    ["point", ...contenders],
    rows,
  );
}

function shown(rows: number, points: number, longSeconds: number): string {
  const few = rows < points ? `; elsewhere nobody took more than ${figure(longSeconds)} s on average` : "";
  return `${rows} of ${count(points, "point")}${few}`;
}

function spread(seconds: readonly number[]): string {
  if (seconds.length === 0) return NOTHING;
  const range = [...new Set([Math.min(...seconds), Math.max(...seconds)])].map(figure);
  return range.length === 1 ? range[0]! : `${figure(mean(seconds))} (${range.join(" to ")})`;
}
