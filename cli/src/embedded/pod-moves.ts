// Reports pod moves in the embedded cluster, by the descheduler, the planner, or a lost node.
import { podView, workloadOf, type KubernetesObject } from "@isochrone/kubernetes";
import type { LabCluster, LabPod } from "@isochrone/lab";
import type { Clock } from "@isochrone/runtime";
import type { MoveProgress, MoveStage } from "@isochrone/scheduler-plugin";

export interface PodMove {
  readonly stage: MoveStage;
  readonly cause: "network" | "node-lost";
  readonly namespace: string;
  readonly workload: string;
  readonly pod: string;
  readonly from: string;
  /** Current node, or the planned one before it runs; null: undecided. */
  readonly to: string | null;
  /** Intended node; null: undecided. */
  readonly target: string | null;
  readonly reason: string;
  /** Predicted saving as a share of the channels' cost over all pods of the move; null: unknown. */
  readonly gainRatio: number | null;
  /** Pods of the move, including this one. */
  readonly movedTogether: number;
  /** Traffic-weighted mean round trip of its channels, ms: before, predicted, and measured. */
  readonly beforeMs: number | null;
  readonly expectedMs: number | null;
  readonly afterMs: number | null;
}

interface Surroundings {
  readonly cluster: Pick<LabCluster, "pods">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const POLL_MS = 250;
const ARRIVES_WITHIN_MS = 60_000;

export class PodMoves {
  readonly #listeners = new Set<(move: PodMove) => void>();

  subscribe(listener: (move: PodMove) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  take(progress: MoveProgress): void {
    const { stage, namespace, workload, pod, from, to, replacement, worth } = progress;
    const { beforeMs, expectedMs, afterMs } = progress;
    const gainRatio = worth?.gainRatio ?? null;
    const movedTogether = worth?.pods ?? 1;
    this.#tell({
      stage,
      cause: "network",
      namespace,
      workload,
      pod,
      from,
      // A withdrawn move leaves the pod in place.
      to: replacement?.node ?? (stage === "withdrawn" ? from : to),
      target: to,
      reason: reasonOf(gainRatio, movedTogether),
      gainRatio,
      movedTogether,
      beforeMs,
      expectedMs,
      afterMs,
    });
  }

  /**
   * Reports pods of a lost node; resolves once each has a ready replacement or the time is over.
   * @param before all earlier pods, which cannot be replacements
   */
  async lost(
    pods: readonly KubernetesObject[],
    before: readonly LabPod[],
    { cluster, clock, signal }: Surroundings,
  ): Promise<void> {
    const waiting = new Set(pods.map(lostMove));
    for (const move of waiting) this.#tell(move);
    const known = new Set(before.map(({ name }) => name));
    const endMs = clock.monotonic() + ARRIVES_WITHIN_MS;
    while (waiting.size > 0 && clock.monotonic() < endMs) {
      await clock.sleep(POLL_MS, signal);
      for (const move of waiting) {
        const found = cluster
          .pods()
          .find(({ name, workload, ready }) => ready && workload === move.workload && !known.has(name));
        if (found === undefined) continue;
        known.add(found.name);
        waiting.delete(move);
        this.#tell({ ...move, stage: "arrived", to: found.node });
      }
    }
    for (const move of waiting) this.#tell({ ...move, stage: "lost" });
  }

  #tell(move: PodMove): void {
    for (const listener of this.#listeners) listener(move);
  }
}

function lostMove(pod: KubernetesObject): PodMove {
  const { namespace, name, node } = podView(pod);
  return {
    stage: "evicted",
    cause: "node-lost",
    namespace,
    workload: workloadOf(pod).name,
    pod: name,
    from: node ?? "",
    to: null,
    target: null,
    reason: `${node} was lost.`,
    gainRatio: null,
    movedTogether: 1,
    beforeMs: null,
    expectedMs: null,
    afterMs: null,
  };
}

function reasonOf(gainRatio: number | null, pods: number): string {
  if (gainRatio === null) return "Another node had a higher score.";
  const whose = pods === 1 ? "Its channels are" : `The channels of ${pods} pods that move together are`;
  return `${whose} expected to cost ${(100 * gainRatio).toFixed(0)} % less there.`;
}
