import { expect, test } from "vitest";
import { emptyReport, type DeschedulerReport } from "../descheduler/report.ts";
import { actingView } from "./acting.ts";

const row = (name: string, decision: string): DeschedulerReport["pods"][number] => ({
  workflow: "shop/shop",
  namespace: "shop",
  name,
  node: "a",
  target: "b",
  cost: 10,
  gain: 5,
  groupSize: 1,
  rounds: 3,
  decision,
  detail: `why ${name}`,
});

const view = (report: DeschedulerReport | null, isPlanning = false) =>
  actingView({ rules: null, isPlanning, descheduler: report && { report: () => report } });

test("a descheduler that is off, or moves pods, has no dry run", () => {
  expect(view(null)).toEqual({ planner: false, descheduler: "off", dryRun: null });
  for (const mode of ["evict", "paper"])
    expect(view({ ...emptyReport(mode), pods: [row("p", "move")] }, true)).toEqual({
      planner: true,
      descheduler: mode,
      dryRun: null,
    });
});

test("a dry run says what it would move, and no pod that stays", () => {
  const at = "2026-01-01T00:00:00Z";
  const pods = [row("stays", "below_margin"), row("goes", "move")];
  const goes = { namespace: "shop", name: "goes", from: "a", to: "b", detail: "why goes" };
  const report = { ...emptyReport("dry-run"), lastRunAt: at, pods };
  expect(view(report).dryRun).toEqual({ at, halt: null, moves: 1, pods: [goes] });
  const halted = { ...report, pods: [], halt: { reason: "stale", detail: "the graph is old" } };
  expect(view(halted).dryRun).toEqual({ at, halt: "the graph is old", moves: 0, pods: [] });
});

test("many moves are counted, and the first are listed", () => {
  const pods = Array.from({ length: 250 }, (_, index) => row(`p-${index}`, "move"));
  const { moves, pods: listed } = view({ ...emptyReport("dry-run"), pods }).dryRun!;
  expect([moves, listed.length]).toEqual([250, 100]);
});
