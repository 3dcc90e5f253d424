import { backoffMs, type BackoffGrowth } from "@isochrone/primitives";
import { hasOurGate, isOnlyOurGate, keyOf } from "@isochrone/kubernetes";
import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";

export interface GatedPod {
  readonly pod: KubernetesObject;
  readonly waitedMs: number;
}

interface Entry {
  pod: KubernetesObject;
  /** Monotonic time since when this process saw only our gate; null: it has other gates. */
  aloneSinceMs: number | null;
  /** True if it ever had other gates; its creation time then does not count. */
  hadOthers: boolean;
  /** Earliest time of the next attempt, monotonic. */
  notBeforeMs: number;
  tries: number;
}

const RETRIES: BackoffGrowth = { initialMs: 1_000, maxMs: 30_000, factor: 2 };

/**
 * Pods with our gate, and how long it has been their only gate. A pod's age is the maximum of its creation
 * time and this process's observation, so a wrong clock can open a gate early but never late.
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
    // A pod with the same name and another UID is a new pod.
    const before = known?.pod.metadata.uid === object.metadata.uid ? known : undefined;
    this.#entries.set(key, entryOf(object, before, nowMs));
  }

  /** Pods past `deadlineMs` that may be attempted now, oldest first. */
  due(deadlineMs: number, nowMs: number, wallMs: number): GatedPod[] {
    const due: GatedPod[] = [];
    for (const entry of this.#entries.values()) {
      const waitedMs = waitOf(entry, nowMs, wallMs);
      if (waitedMs >= deadlineMs && nowMs >= entry.notBeforeMs) due.push({ pod: entry.pod, waitedMs });
    }
    return due.sort((a, b) => b.waitedMs - a.waitedMs);
  }

  longestWaitMs(nowMs: number, wallMs: number): number {
    let longest = 0;
    for (const entry of this.#entries.values()) longest = Math.max(longest, waitOf(entry, nowMs, wallMs));
    return longest;
  }

  forget(pod: KubernetesObject): void {
    const key = keyOf(pod);
    if (this.#entries.get(key)?.pod.metadata.uid === pod.metadata.uid) this.#entries.delete(key);
  }

  /** Defers the next attempt, so that a failing pod does not block others. */
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
    // The change may have fixed the cause of the failure.
    notBeforeMs: 0,
    tries: before?.tries ?? 0,
  };
}

/** Returns -1 if it has other gates. */
function waitOf({ pod, aloneSinceMs, hadOthers }: Entry, nowMs: number, wallMs: number): number {
  if (aloneSinceMs === null) return -1;
  const seenMs = nowMs - aloneSinceMs;
  const createdMs = Date.parse(pod.metadata.creationTimestamp ?? "");
  return hadOthers || Number.isNaN(createdMs) ? seenMs : Math.max(seenMs, wallMs - createdMs);
}
