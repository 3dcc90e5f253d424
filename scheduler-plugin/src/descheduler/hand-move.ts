// One manual move, until the replacement is ready on the target or not. Uses the descheduler's evictor and
// order: the replacement starts first where the controller allows it.
import { hasCondition, KINDS, moveOwnerOf, MOVE_TO_ANNOTATION } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject, ObjectRef } from "@isochrone/kubernetes";
import { canSurge } from "@isochrone/placement";
import { createRegistry } from "@isochrone/runtime";
import type { Clock, Logger } from "@isochrone/runtime";
import { livePodsOf, nodeOfPod } from "./controller-pods.ts";
import { createDeschedulerMetrics } from "./decision/metrics.ts";
import { Evictor } from "./evictor.ts";
import { ReleasedPods, releasedPods } from "./released-pods.ts";
import type { ReleasedPod } from "./resumed-move.ts";

export interface HandMove {
  readonly namespace: string;
  readonly pod: string;
  readonly from: string;
  readonly to: string;
}

/** Ends like a descheduler move. `refused`: nothing was begun. */
export type HandOutcome =
  | { readonly outcome: "on_target"; readonly replacement: string }
  | { readonly outcome: "elsewhere" | "lost" | "refused" | "withdrawn"; readonly detail: string };

export type MovingStore = Pick<ClusterStore, "evict" | "get" | "jsonPatch" | "list" | "patch">;

interface HandMoveDeps {
  readonly store: MovingStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly withinMs: number;
  /** How long the descheduler then skips the controller's pods, ms. */
  readonly coolDownMs: number;
}

const POLL_MS = 250;
const GRACE_MS = 30_000;
const WITHDRAW_ATTEMPTS = 5;

export async function moveByHand(move: HandMove, deps: HandMoveDeps): Promise<HandOutcome> {
  const { store, clock } = deps;
  const { namespace, pod: name, from, to } = move;
  const pod = await store.get({ ...KINDS.pod, namespace, name });
  const owner = pod === null ? null : moveOwnerOf(pod);
  if (pod === null || owner === null) {
    const detail = pod === null ? "it has gone" : "it has no controller, so nobody would replace it";
    return { outcome: "refused", detail };
  }
  const { items } = await store.list(KINDS.pod, { namespace });
  const others = livePodsOf(owner.uid, items);
  const nowMs = clock.now();
  const deadlineMs = nowMs + deps.withinMs;
  const mayRelease = canSurge({ pod, workload: await workloadOf(store, owner) });
  const release = mayRelease ? { before: others.filter((each) => nodeOfPod(each) === to).length } : null;
  const evictor = new Evictor(store);
  const uid = pod.metadata.uid ?? "";
  const { coolDownMs } = deps;
  // The planner reads the target from the pod: it reads controllers only of pods known to be moved.
  if (release === null) await mark(store, pod, to);
  const begun = await evictor.begin({
    namespace,
    pod: name,
    uid,
    from,
    to,
    nowMs,
    deadlineMs,
    coolDownMs,
    release,
  });
  if (!begun.begun) {
    if (release === null) await mark(store, pod, null).catch(() => undefined);
    return { outcome: "refused", detail: begun.detail };
  }
  const known = new Set(others.map(({ metadata }) => metadata.uid));
  const begin = { move, pod, owner, known, deadlineMs, isReleased: release !== null };
  try {
    return await followed(begin, deps);
  } finally {
    await evictor.done(owner, uid, clock.now(), null).catch(() => undefined);
  }
}

interface BegunMove {
  readonly move: HandMove;
  readonly pod: KubernetesObject;
  readonly owner: ObjectRef & { readonly uid: string };
  readonly known: ReadonlySet<string | undefined>;
  readonly deadlineMs: number;
  readonly isReleased: boolean;
}

async function followed(begun: BegunMove, deps: HandMoveDeps): Promise<HandOutcome> {
  const { store, clock, signal } = deps;
  const { namespace } = begun.move;
  for (;;) {
    const { items: pods } = await store.list(KINDS.pod, { namespace });
    const ended = outcomeOf(begun, pods, clock.now());
    if (ended !== null) return ended;
    if (begun.isReleased) await advance(begun, pods, deps);
    await clock.sleep(POLL_MS, signal);
  }
}

function outcomeOf(
  { move, pod, owner, known, deadlineMs, isReleased }: BegunMove,
  pods: readonly KubernetesObject[],
  nowMs: number,
): HandOutcome | null {
  const { to } = move;
  const old = pods.find(({ metadata }) => metadata.uid === pod.metadata.uid);
  const isGone = old === undefined || old.metadata.deletionTimestamp !== undefined;
  const fresh = livePodsOf(owner.uid, pods).filter(({ metadata }) => !known.has(metadata.uid));
  const ready = fresh.filter((each) => hasCondition(each, "Ready"));
  const there = ready.find((each) => nodeOfPod(each) === to);
  if (isGone && there !== undefined) return { outcome: "on_target", replacement: there.metadata.name };
  if (isGone && ready.length > 0)
    return {
      outcome: "elsewhere",
      detail: `its replacement ${ready[0]!.metadata.name} runs on ${nodeOfPod(ready[0]!)}`,
    };
  const isBack = isReleased && old !== undefined && releasedPods([old]).length === 0 && !isGone;
  if (isBack) return { outcome: "withdrawn", detail: `its replacement was not ready on ${to}, and it stays` };
  if (nowMs <= deadlineMs + GRACE_MS) return null;
  return isGone
    ? { outcome: "lost", detail: "its replacement was not ready in time" }
    : { outcome: "withdrawn", detail: "it was not evicted in time, and it stays" };
}

/** Steps are idempotent: a running descheduler performs the same ones. */
async function advance(
  { pod }: BegunMove,
  pods: readonly KubernetesObject[],
  deps: HandMoveDeps,
): Promise<void> {
  const released = releasedPods(pods).find((each) => each.pod.metadata.uid === pod.metadata.uid);
  if (released !== undefined) await step(released, pods, deps);
}

/**
 * Ends a move that was interrupted before the eviction: the pod stays, a replacement goes. Repeatable.
 * @returns false if the API server refused it for now
 */
export async function withdrawByHand(
  { metadata: { namespace = "default", uid = "" } }: KubernetesObject,
  deps: Omit<HandMoveDeps, "signal" | "withinMs">,
): Promise<boolean> {
  const { store } = deps;
  for (let attempt = 0; attempt < WITHDRAW_ATTEMPTS; attempt++) {
    const { items: pods } = await store.list(KINDS.pod, { namespace });
    const pod = pods.find(
      (each) => each.metadata.uid === uid && each.metadata.deletionTimestamp === undefined,
    );
    if (pod === undefined) return true;
    const [released] = releasedPods([pod]);
    if (released === undefined) {
      const owner = moveOwnerOf(pod);
      if (pod.metadata.annotations?.[MOVE_TO_ANNOTATION] !== undefined) await mark(store, pod, null);
      if (owner !== null) await forgetMove(owner, uid, deps);
      return true;
    }
    const { release } = released;
    await step({ pod, release: { ...release, deadlineMs: 0 } }, pods, deps);
  }
  return false;
}

/** Deletes the record of a move whose pod was evicted, so that it directs no other new pod. */
export async function forgetMove(
  owner: ObjectRef,
  podUid: string,
  { store, clock }: Pick<HandMoveDeps, "clock" | "store">,
): Promise<void> {
  await new Evictor(store).done(owner, podUid, clock.now(), null);
}

async function step(
  released: ReleasedPod,
  pods: readonly KubernetesObject[],
  { store, clock, logger, coolDownMs }: Omit<HandMoveDeps, "signal" | "withinMs">,
): Promise<unknown> {
  const { namespace = "default" } = released.pod.metadata;
  const { items: replicaSets } = await store.list(KINDS.replicaSet, { namespace });
  const moves = {
    arrived: () => undefined,
    begin: () => undefined,
    has: () => true,
    restored: () => undefined,
  };
  const metrics = createDeschedulerMetrics(createRegistry());
  const config = { coolDownMs, mode: "evict" } as const;
  const all = new ReleasedPods({ config, store, moves, metrics, logger });
  return all.advance(released, { pods, replicaSets }, clock.now());
}

/** @param to null removes the target */
async function mark(store: MovingStore, { metadata }: KubernetesObject, to: string | null): Promise<void> {
  const { namespace = "default", name } = metadata;
  await store.patch(
    { ...KINDS.pod, namespace, name },
    { metadata: { annotations: { [MOVE_TO_ANNOTATION]: to } } },
  );
}

async function workloadOf(store: MovingStore, owner: ObjectRef): Promise<KubernetesObject | null> {
  const { apiVersion, kind, namespace, name } = owner;
  const controller = await store.get({
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  });
  const above = controller?.metadata.ownerReferences?.find((each) => each.controller === true);
  if (above?.kind !== KINDS.deployment.kind) return null;
  return store.get({
    ...KINDS.deployment,
    ...(namespace === undefined ? {} : { namespace }),
    name: above.name,
  });
}
