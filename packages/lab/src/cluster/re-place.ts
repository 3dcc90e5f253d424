import { isStoreError, keyOf, KINDS, podView, workloadOf } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { retry } from "@isochrone/runtime";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import { NotReadyError } from "./errors.ts";
import type { WorkflowWorkload } from "./manifest/model.ts";
import { nodeStates, unfitReason } from "./scheduler/filters.ts";

/** Where a pod of a workload was and where its replacement is. */
export interface Move {
  readonly workload: string;
  readonly from: string;
  readonly to: string;
}

export interface RePlaceOptions {
  /** The longest wait for one replacement to be ready. @default 60000 */
  readonly podTimeoutMs?: number;
  /**
   * By pod (namespace/name): the node for its replacement. Only these pods are replaced, first those whose node has room. Where a
   * node has none when the replacement comes, that goes where it scores best. @default every pod, each where it scores best
   */
  readonly plan?: ReadonlyMap<string, string>;
  readonly signal?: AbortSignal;
  /** Told of each move as it is made. */
  onMove?(move: Move, done: number, total: number): void;
}

interface Dependencies {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  pods(): readonly KubernetesObject[];
  /** Has the next pods of an owner (namespace/name) placed on a node; null ends that. */
  plan(owner: string, node: string | null): void;
}

const POLL_MS = 50;
const ROOM_WITHIN_MS = 10_000;
const DELETE_RETRIES = { initialMs: 250, maxMs: 5_000, factor: 2, jitterRatio: 0.5, maxAttempts: 8 };

/**
 * Deletes the pods of the workloads one at a time, in the given order, each after the replacement of the one before is ready.
 * Throws NotReadyError when a replacement takes too long; those after it are left where they are.
 */
export async function rePlacePods(
  workloads: readonly WorkflowWorkload[],
  deps: Dependencies,
  options: RePlaceOptions,
): Promise<Move[]> {
  const { plan, signal } = options;
  const left = workloads
    .flatMap((workload) => podsOf(workload, deps))
    .filter((pod) => plan === undefined || plan.has(keyOf(pod)));
  const total = left.length;
  const moves: Move[] = [];
  while (left.length > 0) {
    signal?.throwIfAborted();
    const at = plan === undefined ? 0 : await firstWithRoom(left, plan, deps, options);
    const pod = left.splice(at, 1)[0]!;
    const move = await replaced(pod, plan?.get(keyOf(pod)) ?? null, deps, options);
    if (move === null) continue;
    moves.push(move);
    deps.logger.info("pod placed anew", { ...move });
    options.onMove?.(move, moves.length, total);
  }
  return moves;
}

function podsOf(workload: { name: string; namespace: string }, deps: Dependencies): KubernetesObject[] {
  return deps.pods().filter((pod) => {
    const { name, namespace } = workloadOf(pod);
    const { terminating, node } = podView(pod);
    return name === workload.name && namespace === workload.namespace && !terminating && node !== null;
  });
}

/** Where in the list. Pods that are ending still take room: they are waited for. 0 when no pod's node gets any. */
async function firstWithRoom(
  pods: readonly KubernetesObject[],
  plan: ReadonlyMap<string, string>,
  { store, clock }: Dependencies,
  { signal }: RePlaceOptions,
): Promise<number> {
  const deadlineMs = clock.monotonic() + ROOM_WITHIN_MS;
  for (;;) {
    const [nodes, all] = await Promise.all([store.list(KINDS.node), store.list(KINDS.pod)]);
    const states = nodeStates(nodes.items, all.items);
    const found = pods.findIndex((pod) => {
      const target = states.find(({ name }) => name === plan.get(keyOf(pod)));
      return target !== undefined && unfitReason(pod, target) === null;
    });
    const isEnding = all.items.some((pod) => podView(pod).terminating);
    if (found >= 0 || !isEnding || clock.monotonic() > deadlineMs) return Math.max(0, found);
    await clock.sleep(POLL_MS, signal);
  }
}

/** @param target null: where it scores best; gives null for a pod that is gone already */
async function replaced(
  pod: KubernetesObject,
  target: string | null,
  deps: Dependencies,
  options: RePlaceOptions,
): Promise<Move | null> {
  const before = new Set(deps.pods().map(({ metadata }) => metadata.uid));
  const { namespace = "default", name } = pod.metadata;
  const workload = workloadOf(pod);
  const owner = `${workload.namespace}/${workload.name}`;
  const { signal } = options;
  deps.plan(owner, target);
  try {
    const run = (): Promise<void> => deps.store.delete({ ...KINDS.pod, namespace, name });
    await retry({ ...deps, policy: DELETE_RETRIES, run, ...(signal === undefined ? {} : { signal }) });
    const fresh = (candidate: KubernetesObject): boolean =>
      !before.has(candidate.metadata.uid) && podView(candidate).ready;
    const replacement = await waitFor(
      () => podsOf(workload, deps).find(fresh),
      `replacement of ${keyOf(pod)}`,
      deps.clock,
      options,
    );
    return { workload: workload.name, from: podView(pod).node!, to: podView(replacement).node! };
  } catch (error) {
    if (isStoreError(error, "not_found")) return null;
    throw error;
  } finally {
    deps.plan(owner, null);
  }
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
