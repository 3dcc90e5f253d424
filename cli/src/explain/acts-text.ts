import type { Act, ActList } from "@isochrone/topology";
import { table, type Cell } from "../output/table.ts";

/** @param subject requested namespace/name */
export function actsText({ acts, leftOut, acting }: ActList, subject: string): string {
  const blocks = [
    acts.length === 0
      ? `nothing was decided about ${subject}: kube-scheduler placed it alone, or it is older than what is kept`
      : table(["when", "what", "pods", "from", "to", "expected", "counted", "promise"], acts.map(rowOf)),
    leftOut === 0 ? "" : `${leftOut} older acts left out`,
    actingText(acting),
  ];
  return blocks.filter((block) => block !== "").join("\n\n");
}

function rowOf(act: Act): readonly Cell[] {
  const { at, kind, pods, planned, expected, counted, sentence } = act;
  const nodes = (side: "from" | "to"): string | null =>
    [...new Set(pods.flatMap((pod) => pod[side] ?? []))].join(", ") || null;
  return [
    at,
    kind,
    pods.length === 1 ? pods[0]!.name : `${planned} pods`,
    nodes("from"),
    nodes("to"),
    changeOf(expected),
    changeOf(counted),
    sentence,
  ];
}

function changeOf(change: Act["expected"] | Act["counted"]): string | null {
  if (change === null) return null;
  const { beforeMs, afterMs, gainRatio } = change;
  if (beforeMs !== null && afterMs !== null) return `${beforeMs.toFixed(1)} -> ${afterMs.toFixed(1)} ms`;
  return gainRatio === null ? null : `${(gainRatio * 100).toFixed(0)} % less`;
}

function actingText(acting: ActList["acting"]): string {
  if (acting === undefined) return "";
  const { planner, descheduler, dryRun } = acting;
  const off = [
    ...(planner ? [] : ["the planner is off (planner.enabled)"]),
    ...(descheduler === "off" ? ["the descheduler is off (descheduler.mode)"] : []),
    ...(dryRun === null ? [] : [`a dry run would move ${dryRun.moves} pods (descheduler.mode: dry-run)`]),
  ];
  return off.join("; ");
}
