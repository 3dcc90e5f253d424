// Tells how pods of the embedded cluster move, whoever moves them: the descheduler, the planner, or the loss
// of a node.
import { podView, workloadOf, type KubernetesObject } from "@isochrone/kubernetes";
import type { LabCluster, LabPod } from "@isochrone/lab";
import type { Clock } from "@isochrone/runtime";
import type { MoveProgress, MoveStage } from "@isochrone/scheduler-plugin";

/** A pod on its way, once for each stage of it. */
export interface PodMove {
  readonly stage: MoveStage;
  readonly cause: "network" | "node-lost";
  readonly namespace: string;
  readonly workload: string;
  /** The pod that is replaced. */
  readonly pod: string;
  readonly from: string;
  /** Where it runs now; before it does, where it is to run; null: not decided yet. */
  readonly to: string | null;
  /** Where it was to run; null: nobody has decided that. */
  readonly target: string | null;
  /** A sentence for people. */
  readonly reason: string;
  /** What the move is to save, as a share of what the channels of all its pods cost; null: not known. */
  readonly gainRatio: number | null;
  /** Pods of the move, this one included. */
  readonly movedTogether: number;
  /**
   * Mean round trip of its channels, weighed by their traffic, milliseconds: before, as expected, and as
   * measured again.
   */
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

  /** @returns what ends it */
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
      // A pod whose move was withdrawn is where it was.
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
   * Pods of a lost node; resolves when each has a replacement that is ready, or none came in time.
   *
   * @param before all pods that were there before: none of them is a replacement
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
