import { isStoreError, keyOf, KINDS, podView, workloadOf } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { retry } from "@isochrone/runtime";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { NotReadyError } from "./errors.ts";
import type { WorkflowWorkload } from "./manifest/model.ts";

export interface Move {
  readonly workload: string;
  readonly from: string;
  readonly to: string;
}

export interface RePlaceOptions {
  /** Timeout of one replacement. @default 60000 */
  readonly podTimeoutMs?: number;
  readonly signal?: AbortSignal;
  onMove?(move: Move, done: number, total: number): void;
}

interface Dependencies {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  pods(): readonly KubernetesObject[];
}

const POLL_MS = 50;
const DELETE_RETRIES = { initialMs: 250, maxMs: 5_000, factor: 2, jitterRatio: 0.5, maxAttempts: 8 };

/**
 * Deletes pods one at a time in the given order, each after the previous replacement is ready. Throws
 * NotReadyError if one takes too long; later pods stay.
 */
export async function rePlacePods(
  workloads: readonly WorkflowWorkload[],
  deps: Dependencies,
  options: RePlaceOptions,
): Promise<Move[]> {
  const podsOf = (workload: WorkflowWorkload): KubernetesObject[] =>
    deps.pods().filter((pod) => {
      const { name, namespace } = workloadOf(pod);
      const { terminating, node } = podView(pod);
      return name === workload.name && namespace === workload.namespace && !terminating && node !== null;
    });
  const total = workloads.reduce((sum, workload) => sum + podsOf(workload).length, 0);
  const moves: Move[] = [];
  for (const workload of workloads) {
    for (const pod of podsOf(workload)) {
      options.signal?.throwIfAborted();
      const before = new Set(deps.pods().map(({ metadata }) => metadata.uid));
      const { namespace = "default", name } = pod.metadata;
      try {
        const run = (): Promise<void> => deps.store.delete({ ...KINDS.pod, namespace, name });
        const { signal } = options;
        await retry({ ...deps, policy: DELETE_RETRIES, run, ...(signal === undefined ? {} : { signal }) });
      } catch (error) {
        if (isStoreError(error, "not_found")) continue;
        throw error;
      }
      const fresh = (candidate: KubernetesObject): boolean =>
        !before.has(candidate.metadata.uid) && podView(candidate).ready;
      const replacement = await waitFor(
        () => podsOf(workload).find(fresh),
        `replacement of ${keyOf(pod)}`,
        deps.clock,
        options,
      );
      const move = { workload: workload.name, from: podView(pod).node!, to: podView(replacement).node! };
      moves.push(move);
      deps.logger.info("pod placed anew", { ...move });
      options.onMove?.(move, moves.length, total);
    }
  }
  return moves;
}

async function waitFor<T>(
  find: () => T | undefined,
  what: string,
  clock: Clock,
  options: RePlaceOptions,
): Promise<T> {
  const timeoutMs = options.podTimeoutMs ?? 60_000;
  const deadlineMs = clock.monotonic() + timeoutMs;
  for (;;) {
    const found = find();
    if (found !== undefined) return found;
    if (clock.monotonic() > deadlineMs)
      throw new NotReadyError(`the ${what} must be ready within ${timeoutMs} ms and was not`, [what]);
    await clock.sleep(POLL_MS, options.signal);
  }
}
