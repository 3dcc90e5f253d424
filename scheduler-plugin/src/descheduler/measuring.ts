// What graphs say of the channels of pods that were moved. Pure.
import { channelLatency } from "@isochrone/placement";
import type { MeasuredMove } from "@isochrone/placement";
import type { Graphs } from "./carry-out.ts";
import type { SettledPods } from "./decision/settled-pods.ts";
import type { SurveyedPod } from "./decision/survey.ts";
import type { ReplacedMove } from "./started-moves.ts";

/** Compares a move with what it was made for; null if the graphs don't say. */
export function judgementOf(
  { move, replacement }: ReplacedMove,
  { cluster, workflow }: Graphs,
  bytesPerRequest: number,
): MeasuredMove | null {
  const { namespace, workload, before, expected, atMs } = move;
  const graph = workflow(namespace, move.workflow);
  if (graph === null || before === null || expected === null) return null;
  const pod = { namespace, name: replacement.name, workload };
  const now = channelLatency(pod, replacement.node, { cluster, workflow: graph }, bytesPerRequest);
  if (now === null) return null;
  const { ms: beforeMs, bytesPerSecond } = before;
  return { atMs, beforeMs, expectedMs: expected.ms, afterMs: now.ms, bytesPerSecond };
}

/** Why a pod that was moved before stays, in words; null: it may move. */
export function reasonToStay(
  { identity: { namespace, workflow, name }, workload, node }: SurveyedPod,
  settled: SettledPods,
  graphs: Graphs,
  bytesPerRequest: number,
  nowMs: number,
): string | null {
  const pod = `${namespace}/${name}`;
  const graph = settled.has(pod) ? graphs.workflow(namespace, workflow) : null;
  if (graph === null) return null;
  const known = { cluster: graphs.cluster, workflow: graph };
  const now = channelLatency({ namespace, name, workload }, node, known, bytesPerRequest);
  return settled.reasonToStay(pod, now?.ms ?? null, nowMs);
}
