// Replaces the whole workflow by the planner: the namespace opts in, so that new pods get the gate, then all
// pods are evicted.
import {
  isStoreError,
  KINDS,
  PLACEMENT_DISABLED,
  PLACEMENT_ENABLED,
  PLACEMENT_LABEL,
  PLANNER_LEASE,
  podView,
  type ClusterStore,
} from "@isochrone/kubernetes";
import { NotReadyError, type LabCluster, type LabPod, type Move } from "@isochrone/lab";
import { PLANNED_NODE_ANNOTATION } from "@isochrone/topology";
import type { Clock } from "@isochrone/runtime";

interface PlanPlacement {
  readonly store: ClusterStore;
  readonly cluster: Pick<LabCluster, "pods" | "waitReady">;
  readonly namespace: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly withinMs: number;
}

const POLL_MS = 100;
const ATTEMPTS = 3;

/** While opted in, new pods wait for the planner, and the descheduler may move pods. */
export async function optIn(
  { store, namespace: name }: Pick<PlanPlacement, "store" | "namespace">,
  isIn: boolean,
): Promise<void> {
  const labels = { [PLACEMENT_LABEL]: isIn ? PLACEMENT_ENABLED : PLACEMENT_DISABLED };
  try {
    await store.create({ ...KINDS.namespace, metadata: { name, labels } });
  } catch (error) {
    if (!isStoreError(error, "already_exists")) throw error;
    await store.patch({ ...KINDS.namespace, name }, { metadata: { labels } });
  }
}

/** Throws NotReadyError if the planner or the pods do not become ready. */
export async function placeByPlan(options: PlanPlacement): Promise<readonly Move[]> {
  const { store, cluster, namespace, clock, signal, withinMs } = options;
  const present = (): readonly LabPod[] =>
    cluster.pods().filter((pod) => pod.namespace === namespace && !pod.deleting);
  await untilGated(options);
  await optIn(options, true);
  try {
    const before = present();
    let unplanned = before.map(({ name }) => name);
    for (let attempt = 0; attempt < ATTEMPTS && unplanned.length > 0; attempt++) {
      // All at once: a pod whose peers stay would be placed beside them without a joint plan.
      await Promise.all(unplanned.map((name) => store.evict({ namespace, name })));
      while (present().some(({ name }) => unplanned.includes(name))) await clock.sleep(POLL_MS, signal);
      await cluster.waitReady(withinMs, signal);
      unplanned = await unplannedOf(store, namespace);
    }
    return movesBetween(before, present());
  } finally {
    await optIn(options, false);
  }
}

async function untilGated({ store, clock, signal, withinMs }: PlanPlacement): Promise<void> {
  const endMs = clock.monotonic() + withinMs;
  for (;;) {
    const [webhooks, leases] = await Promise.all([
      store.list(KINDS.mutatingWebhookConfiguration),
      store.list(KINDS.lease),
    ]);
    const isAlive = leases.items.some(({ metadata }) => metadata.name === PLANNER_LEASE);
    if (webhooks.items.length > 0 && isAlive) return;
    if (clock.monotonic() > endMs)
      throw new NotReadyError(`the planner must be ready within ${withinMs} ms and was not`, ["planner"]);
    await clock.sleep(POLL_MS, signal);
  }
}

async function unplannedOf(store: ClusterStore, namespace: string): Promise<string[]> {
  const { items } = await store.list(KINDS.pod, { namespace });
  return items
    .filter(
      (pod) => !podView(pod).terminating && pod.metadata.annotations?.[PLANNED_NODE_ANNOTATION] === undefined,
    )
    .map(({ metadata }) => metadata.name);
}

/** Pairs old and new pods arbitrarily: pods of a workload are interchangeable. */
function movesBetween(before: readonly LabPod[], after: readonly LabPod[]): Move[] {
  const byWorkload = Map.groupBy(after, ({ workload }) => workload);
  return before.flatMap(({ workload, node }) => {
    const to = byWorkload.get(workload)?.pop()?.node ?? null;
    return node === null || to === null ? [] : [{ workload, from: node, to }];
  });
}
