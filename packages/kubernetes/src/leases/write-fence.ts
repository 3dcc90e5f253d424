import { AsyncLocalStorage } from "node:async_hooks";
import { StoreError } from "../store/errors.ts";
import type { Leadership } from "../leadership.ts";
import type { ClusterStore } from "../store/port.ts";

/** Says whether this process may write now; by a monotonic clock, for the process may have stood still. */
interface WriteFence {
  readonly mayWrite: () => boolean;
  /** For messages: "lease isochrone-aggregator is not held". */
  readonly reason: string;
}

/** Of the write under way, the outermost first. */
const fences = new AsyncLocalStorage<readonly WriteFence[]>();

/**
 * What an adapter calls at the last moment before a write leaves the process; null: the write needs none.
 * Throws StoreError `fenced`. To be asked for while the call runs, and called when the connection is there:
 * waiting is what a paused process does.
 */
export function currentFence(): (() => void) | null {
  const around = fences.getStore();
  return around === undefined ? null : () => around.forEach(check);
}

function check({ mayWrite, reason }: WriteFence): void {
  if (!mayWrite()) throw new StoreError("fenced", `not written: ${reason}`);
}

/**
 * A store for what only a leader may write: it refuses writes with StoreError `fenced` once the fence is
 * closed, even those that were begun before and have waited since (a rate limit, a connection, a retry, a
 * process that was stopped). No check within a process can be the last word, so writes also carry what must
 * still be so: a resourceVersion, a uid, a `test`.
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

/**
 * The store for what only the holder of a Lease may write: it writes nothing from the moment on in which
 * another replica may lead.
 */
export function leaderStore(store: ClusterStore, leadership: Leadership, leaseName: string): ClusterStore {
  const reason = `this replica does not hold the lease ${leaseName}`;
  return fencedStore(store, { mayWrite: () => leadership.isLeader(), reason });
}
