import { AsyncLocalStorage } from "node:async_hooks";
import { StoreError } from "../store/errors.ts";
import type { Leadership } from "../leadership.ts";
import type { ClusterStore } from "../store/port.ts";

/** Whether this process may write now, by a monotonic clock because the process may have been paused. */
interface WriteFence {
  readonly mayWrite: () => boolean;
  readonly reason: string;
}

/** Fences of the running write, outermost first. */
const fences = new AsyncLocalStorage<readonly WriteFence[]>();

/**
 * Returns the check that adapters call right before a write leaves the process; it throws StoreError
 * `fenced`. Null: not needed. Obtain it during the call, and run it once connected, because a process may
 * pause while waiting.
 */
export function currentFence(): (() => void) | null {
  const around = fences.getStore();
  return around === undefined ? null : () => around.forEach(check);
}

function check({ mayWrite, reason }: WriteFence): void {
  if (!mayWrite()) throw new StoreError("fenced", `not written: ${reason}`);
}

/**
 * A store for leaders: throws StoreError `fenced` once the fence closes, even for writes that waited (rate
 * limit, connection, retry, pause). No local check is final, so writes also carry preconditions: a
 * resourceVersion, a uid, a `test`.
 */
export function fencedStore(store: ClusterStore, fence: WriteFence): ClusterStore {
  const fenced = <T>(write: () => Promise<T>): Promise<T> =>
    fences.run([...(fences.getStore() ?? []), fence], async () => {
      check(fence);
      return await write();
    });
  const { informerObserver } = store;
  return {
    ...(informerObserver === undefined ? {} : { informerObserver }),
    get: (ref) => store.get(ref),
    list: (kind, options) => store.list(kind, options),
    watch: (kind, options) => store.watch(kind, options),
    create: (object) => fenced(() => store.create(object)),
    update: (object, options) => fenced(() => store.update(object, options)),
    patch: (ref, patch, options) => fenced(() => store.patch(ref, patch, options)),
    jsonPatch: (ref, operations, options) => fenced(() => store.jsonPatch(ref, operations, options)),
    apply: (object, options) => fenced(() => store.apply(object, options)),
    delete: (ref, options) => fenced(() => store.delete(ref, options)),
    evict: (pod, options) => fenced(() => store.evict(pod, options)),
    scale: (ref, replicas, options) => fenced(() => store.scale(ref, replicas, options)),
    bind: (pod, nodeName) => fenced(() => store.bind(pod, nodeName)),
  };
}

export function leaderStore(store: ClusterStore, leadership: Leadership, leaseName: string): ClusterStore {
  const reason = `this replica does not hold the lease ${leaseName}`;
  return fencedStore(store, { mayWrite: () => leadership.isLeader(), reason });
}
