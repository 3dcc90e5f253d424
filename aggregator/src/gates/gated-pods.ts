import { backoffMs, type BackoffGrowth } from "@isochrone/primitives";
import { hasOurGate, isOnlyOurGate, keyOf } from "@isochrone/kubernetes";
import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";

/** A pod that waits for us. */
export interface GatedPod {
  readonly pod: KubernetesObject;
  /** How long it has waited for nobody else, ms. */
  readonly waitedMs: number;
}

interface Entry {
  pod: KubernetesObject;
  /**
   * Since when it waits for us alone as far as this process saw, monotonic; null: it waits for others too.
   */
  aloneSinceMs: number | null;
  /** Whether it was once seen to wait for others too: then its creation says nothing. */
  hadOthers: boolean;
  /** Not tried before, monotonic. */
  notBeforeMs: number;
  tries: number;
}

const RETRIES: BackoffGrowth = { initialMs: 1_000, maxMs: 30_000, factor: 2 };

/**
 * Pods with our gate, and since when that is all that holds them. The clock of whoever wrote the creation
 * time may be wrong: a pod is as old as that says or as this process has seen it wait, whichever is more, so
 * that a wrong clock can open a gate early, never late.
 */
export class GatedPods {
  readonly #entries = new Map<string, Entry>();

  get size(): number {
    return this.#entries.size;
  }

  take({ type, object }: InformerChange, nowMs: number): void {
    const key = keyOf(object);
    if (type === "deleted" || !hasOurGate(object) || object.metadata.deletionTimestamp !== undefined) {
      this.#entries.delete(key);
      return;
    }
    const known = this.#entries.get(key);
    // One that came by the same name is another pod.
    const before = known?.pod.metadata.uid === object.metadata.uid ? known : undefined;
    this.#entries.set(key, entryOf(object, before, nowMs));
  }

  /** Pods that have waited for `deadlineMs` or longer and may be tried now, the oldest first. */
  due(deadlineMs: number, nowMs: number, wallMs: number): GatedPod[] {
    const due: GatedPod[] = [];
    for (const entry of this.#entries.values()) {
      const waitedMs = waitOf(entry, nowMs, wallMs);
      if (waitedMs >= deadlineMs && nowMs >= entry.notBeforeMs) due.push({ pod: entry.pod, waitedMs });
    }
    return due.sort((a, b) => b.waitedMs - a.waitedMs);
  }

  /** Longest wait of a pod for us alone, ms; 0 without any. */
  longestWaitMs(nowMs: number, wallMs: number): number {
    let longest = 0;
    for (const entry of this.#entries.values()) longest = Math.max(longest, waitOf(entry, nowMs, wallMs));
    return longest;
  }

  /** It was opened, or is no more. */
  forget(pod: KubernetesObject): void {
    const key = keyOf(pod);
    if (this.#entries.get(key)?.pod.metadata.uid === pod.metadata.uid) this.#entries.delete(key);
  }

  /** It could not be opened: tried again later, so that it holds up no others. */
  failed(pod: KubernetesObject, nowMs: number): void {
    const entry = this.#entries.get(keyOf(pod));
    if (entry === undefined) return;
    entry.tries += 1;
    entry.notBeforeMs = nowMs + backoffMs(RETRIES, entry.tries);
  }
}

function entryOf(pod: KubernetesObject, before: Entry | undefined, nowMs: number): Entry {
  const isAlone = isOnlyOurGate(pod);
  return {
    pod,
    aloneSinceMs: isAlone ? (before?.aloneSinceMs ?? nowMs) : null,
    hadOthers: !isAlone || before?.hadOthers === true,
    // A change may be what the last try lacked.
    notBeforeMs: 0,
    tries: before?.tries ?? 0,
  };
}

/** -1: it waits for others too. */
function waitOf({ pod, aloneSinceMs, hadOthers }: Entry, nowMs: number, wallMs: number): number {
  if (aloneSinceMs === null) return -1;
  const seenMs = nowMs - aloneSinceMs;
  const createdMs = Date.parse(pod.metadata.creationTimestamp ?? "");
  return hadOthers || Number.isNaN(createdMs) ? seenMs : Math.max(seenMs, wallMs - createdMs);
}
