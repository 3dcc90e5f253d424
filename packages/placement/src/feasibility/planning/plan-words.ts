import type { WorkflowPlanReport } from "./plan-report.ts";

type Told = Pick<WorkflowPlanReport, "gain" | "moves" | "perRequest" | "savedRatio">;

/** For example "2 moves: 23 -> 12 ms per request (+- 2)." */
export function planVerdict({ moves, perRequest, savedRatio }: Told): string {
  const [now, later] = [true, false].map((isNow) =>
    moves.filter(({ obstacle }) => (obstacle === null) === isNow),
  );
  const more = later!.length === 0 ? "" : ` ${moveCount(later!.length)} more can't be made now.`;
  if (now!.length === 0)
    return later!.length === 0
      ? "No move would be worth an eviction."
      : `No move can be made now; ${moveCount(later!.length)} would gain.`;
  const first = moveCount(now!.length);
  if (perRequest === null || savedRatio === null || savedRatio <= 0)
    return `${first}: loaded nodes are relieved.${more}`;
  const { todayMs, bestMs, errorMs } = perRequest;
  return `${first}: ${msOf(todayMs)} -> ${msOf(bestMs)} ms per request (+- ${msOf(errorMs)}).${more}`;
}

function moveCount(count: number): string {
  return count === 1 ? "1 move" : `${count} moves`;
}

function msOf(ms: number): string {
  return String(ms >= 100 ? Math.round(ms) : Number(ms.toPrecision(2)));
}
