import { channelLatency } from "@isochrone/placement";
import type { MeasuredMove } from "@isochrone/placement";
import type { Graphs } from "./carry-out.ts";
import { isSlower, type SettledPods } from "./decision/settled-pods.ts";
import type { SurveyedPod } from "./decision/survey.ts";
import type { ReplacedMove } from "./started-moves.ts";

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

/**
 * Reasons why moved pods of one workflow stay, by UID. If one pod's channels became slower, that is a new
 * fault and all may move: a workflow moves as a whole.
 */
export function settledPods(
  pods: readonly SurveyedPod[],
  settled: SettledPods,
  { cluster, workflow }: Graphs,
  bytesPerRequest: number,
): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>();
  for (const { identity, movable, workload, node } of pods) {
    const { namespace, name } = identity;
    const note = settled.noteOf(`${namespace}/${name}`);
    const graph = note === null ? null : workflow(namespace, identity.workflow);
    if (note === null || graph === null) continue;
    const now = channelLatency(
      { namespace, name, workload },
      node,
      { cluster, workflow: graph },
      bytesPerRequest,
    );
    if (now === null) continue;
    if (isSlower(note, now.ms)) return new Map();
    const [ms, afterMs] = [now.ms.toFixed(2), note.afterMs.toFixed(2)];
    reasons.set(
      movable.uid,
      `it was moved, and its channels take no longer than afterwards (${ms} ms, then ${afterMs} ms)`,
    );
  }
  return reasons;
}
