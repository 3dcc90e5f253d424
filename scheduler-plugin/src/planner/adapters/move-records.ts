// Targets of replacements: the descheduler records them on controllers, people on pods.
import { moveOwnerOf, readMoveRecords } from "@isochrone/kubernetes";
import type { ClusterStore, MoveRecord, ObjectRef } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import type { GatedPod } from "../gated-workflows.ts";
import type { MarkedPods } from "../marked-pods.ts";

interface MoveRecordsOptions {
  readonly store: Pick<ClusterStore, "get">;
  readonly marked: Pick<MarkedPods, "openFor" | "done">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class MoveRecords {
  readonly #options: MoveRecordsOptions;

  constructor(options: MoveRecordsOptions) {
    this.#options = options;
  }

  /**
   * Returns the open move of each pod, by key; each move goes once, to the oldest pod. Reads only controllers
   * that may have moves, because a request per new workload would delay deployments. An unreadable controller
   * has no moves.
   */
  async of(
    pods: readonly GatedPod[],
    mayHaveMoves: (controllerUid: string) => boolean,
  ): Promise<Map<string, MoveRecord>> {
    const moves = new Map<string, MoveRecord>();
    const taken = new Set<MoveRecord>();
    const owners = new Map<string, { readonly ref: ObjectRef; readonly pods: GatedPod[] }>();
    for (const pod of pods) {
      const owner = moveOwnerOf(pod.object);
      if (owner === null) continue;
      const { uid, ...ref } = owner;
      const [marked] = this.#options.marked.openFor(pod.object).filter((each) => !taken.has(each));
      if (marked !== undefined) {
        taken.add(marked);
        moves.set(pod.key, marked);
        continue;
      }
      if (!mayHaveMoves(uid)) continue;
      const of = owners.get(uid) ?? { ref, pods: [] };
      of.pods.push(pod);
      owners.set(uid, of);
    }
    await Promise.all([...owners.values()].map((owner) => this.#assign(owner, moves)));
    return moves;
  }

  end(moves: ReadonlyMap<string, MoveRecord>): void {
    for (const move of moves.values()) this.#options.marked.done(move);
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
