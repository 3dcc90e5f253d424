// What was known of a workload's traffic outlives its pods: whoever deploys it anew places it by that, before
// it has said a word.
import { fullName, type NamespacedName, type PodState } from "../cluster-state.ts";
import type { EndRates } from "./observed-channels.ts";

/** A workload of the cluster with its pods; null: there is none of that name. */
export type WorkloadPods = (workload: NamespacedName) => readonly Pick<PodState, "node">[] | null;

interface Entry {
  rates: EndRates;
  /** Of the build that saw the channel last. */
  notedMs: number;
  /** An end was without pods since then. */
  isInterrupted: boolean;
  /** Since when both ends have had pods on nodes again; null: they have not. */
  wholeSinceMs: number | null;
}

/** A night, or a weekday's pause, and the next deployment is still placed well; what is older says little. */
const KEPT_MS = 24 * 3_600_000;

/**
 * Rates of channels as they were while both ends had pods on nodes, by the names of the workloads. They stand
 * in for rates from the moment on in which an end has lost its pods, until both have had pods for a whole
 * window: by then what the pods say, or don't, is the truth. A channel that falls silent while its pods run
 * is forgotten at once. Each end's rates stay that end's: a memory shows nobody more than was observed.
 */
export class ChannelMemory {
  readonly #maxChannels: number;
  readonly #windowMs: number;
  /** By the namespace whose proxies told of the channel, the one that was seen longest ago first. */
  readonly #byNamespace = new Map<string, Map<string, Entry>>();
  #size = 0;

  constructor(maxChannels: number, windowMs: number) {
    this.#maxChannels = maxChannels;
    this.#windowMs = windowMs;
  }

  get size(): number {
    return this.#size;
  }

  /** A channel as it is observed now. @param isWhole both ends have pods on nodes */
  note(rates: EndRates, isWhole: boolean, nowMs: number): void {
    if (!isWhole) return;
    const { namespace, name } = placeOf(rates);
    let entries = this.#byNamespace.get(namespace);
    const known = entries?.get(name);
    if (known !== undefined) {
      entries!.delete(name);
      this.#size--;
    } else if (this.#size >= this.#maxChannels) {
      this.#evict();
      entries = this.#byNamespace.get(namespace);
    }
    if (entries === undefined) this.#byNamespace.set(namespace, (entries = new Map()));
    entries.set(name, { rates, notedMs: nowMs, isInterrupted: false, wholeSinceMs: null });
    this.#size++;
  }

  /**
   * Channels that nobody has seen in this build and that are known of before; to be called once a build,
   * after all were noted.
   */
  recall(podsOf: WorkloadPods, nowMs: number): EndRates[] {
    const recalled: EndRates[] = [];
    for (const [namespace, entries] of this.#byNamespace) {
      for (const [name, entry] of entries) {
        if (entry.notedMs === nowMs) continue;
        const { key } = entry.rates;
        const source = podsOf({ namespace: key.sourceNamespace, name: key.source });
        const target = podsOf({ namespace: key.targetNamespace, name: key.target });
        if (!this.#isKept(entry, isPlaced(source) && isPlaced(target), nowMs)) {
          entries.delete(name);
          this.#size--;
        } else if (source !== null && target !== null && source.length + target.length > 0)
          recalled.push(entry.rates);
      }
      if (entries.size === 0) this.#byNamespace.delete(namespace);
    }
    return recalled;
  }

  /** The clock was set back: nothing was noted later than now. */
  setBack(nowMs: number): void {
    for (const entries of this.#byNamespace.values())
      for (const entry of entries.values()) {
        // Not now itself: the build under way has not seen them.
        entry.notedMs = Math.min(entry.notedMs, nowMs - 1);
        if (entry.wholeSinceMs !== null) entry.wholeSinceMs = Math.min(entry.wholeSinceMs, nowMs);
      }
  }

  #isKept(entry: Entry, isWhole: boolean, nowMs: number): boolean {
    if (nowMs - entry.notedMs > KEPT_MS) return false;
    if (!isWhole) {
      entry.isInterrupted = true;
      entry.wholeSinceMs = null;
      return true;
    }
    entry.wholeSinceMs ??= nowMs;
    return entry.isInterrupted && nowMs - entry.wholeSinceMs < this.#windowMs;
  }

  /** Who remembers most gives room, so that nobody's inventions push out what others have said. */
  #evict(): void {
    let largest: Map<string, Entry> | null = null;
    for (const entries of this.#byNamespace.values())
      if (entries.size > (largest?.size ?? 0)) largest = entries;
    const oldest = largest?.keys().next();
    if (largest === null || oldest === undefined || oldest.done === true) return;
    largest.delete(oldest.value);
    this.#size--;
  }
}

function placeOf({ key, source }: EndRates): { readonly namespace: string; readonly name: string } {
  const from = fullName({ namespace: key.sourceNamespace, name: key.source });
  const to = fullName({ namespace: key.targetNamespace, name: key.target });
  return { namespace: source === null ? key.targetNamespace : key.sourceNamespace, name: `${from}\n${to}` };
}

function isPlaced(pods: readonly Pick<PodState, "node">[] | null): boolean {
  return pods?.some(({ node }) => node !== null) ?? false;
}
