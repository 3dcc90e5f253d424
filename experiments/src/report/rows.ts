import { axesOf } from "../frame/rows.ts";
import type { CellResult } from "../run/result.ts";

const MEASURED = [
  "requests",
  "failed",
  "p50",
  "p95",
  "p99",
  "mean",
  "throughput",
  "rounds",
  "moves",
  "queueingShare",
  "steadyAfterSeconds",
] as const;
const FACTS = ["cost", "trafficCost", "colocated", "busiest", "nodes"] as const;

export function resultRows(results: readonly CellResult[]): readonly (readonly (string | number)[])[] {
  const axes = axesOf(results);
  const head = [
    "ground",
    "point",
    ...axes,
    "contender",
    "trial",
    ...MEASURED,
    ...FACTS,
    "by",
    "failure",
    "seconds",
    "hash",
  ];
  const rows = results.map((result) => [
    result.ground,
    result.point,
    ...axes.map((axis) => result.labels[axis] ?? ""),
    result.contender,
    result.trial,
    ...MEASURED.map((key) => result.measured?.[key] ?? ""),
    ...FACTS.map((key) => result.measured?.facts[key] ?? ""),
    result.by,
    result.failure ?? "",
    result.tookSeconds,
    result.hash,
  ]);
  return [head, ...rows];
}
