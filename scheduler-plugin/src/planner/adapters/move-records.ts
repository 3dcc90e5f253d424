// Where replacements of evicted pods are to go: the descheduler leaves it on the pods' controllers.
import { moveOwnerOf, readMoveRecords } from "@isochrone/kubernetes";
import type { ClusterStore, MoveRecord, ObjectRef } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import type { GatedPod } from "../gated-workflows.ts";

interface MoveRecordsOptions {
  readonly store: Pick<ClusterStore, "get">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class MoveRecords {
  readonly #options: MoveRecordsOptions;

  constructor(options: MoveRecordsOptions) {
    this.#options = options;
  }

  /**
   * The open move that each pod redeems, by key; each move once, to the oldest pod. Controllers are read when
   * they have other pods too: nobody evicts the only pod of a workload. One that can't be read has no moves.
   */
  async of(
    pods: readonly GatedPod[],
    hasPlaced: (controllerUid: string) => boolean,
  ): Promise<Map<string, MoveRecord>> {
    const owners = new Map<string, { readonly ref: ObjectRef; readonly pods: GatedPod[] }>();
    for (const pod of pods) {
      const owner = moveOwnerOf(pod.object);
      if (owner === null || !hasPlaced(owner.uid)) continue;
      const { uid, ...ref } = owner;
      const of = owners.get(uid) ?? { ref, pods: [] };
      of.pods.push(pod);
      owners.set(uid, of);
    }
    const moves = new Map<string, MoveRecord>();
    await Promise.all([...owners.values()].map((owner) => this.#assign(owner, moves)));
    return moves;
  }

  async #assign(
    { ref, pods }: { readonly ref: ObjectRef; readonly pods: readonly GatedPod[] },
    moves: Map<string, MoveRecord>,
  ): Promise<void> {
    const { store, clock, logger } = this.#options;
    try {
      const owner = await store.get(ref);
      if (owner === null) return;
      const open = readMoveRecords(owner, clock.now());
      for (const pod of pods) {
        const next = open.findIndex(({ podUid }) => podUid !== pod.object.metadata.uid);
        if (next >= 0) moves.set(pod.key, open.splice(next, 1)[0]!);
      }
    } catch (error) {
      logger.warnOnce("planner:moves", "moves can't be read, replacements are planned as other pods are", {
        error,
      });
    }
  }
}
