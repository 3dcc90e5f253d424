// Remembers a workload's traffic after its pods are gone, so that a redeployment is placed well from the
// start.
import { fullName, type NamespacedName, type PodState } from "../cluster-state.ts";
import type { EndRates } from "./observed-channels.ts";

export type WorkloadPods = (workload: NamespacedName) => readonly Pick<PodState, "node">[] | null;

interface Entry {
  rates: EndRates;
  notedMs: number;
  /** An end has lost its pods since then. */
  isInterrupted: boolean;
  /** Time since when both ends have had pods on nodes again; null: not yet. */
  wholeSinceMs: number | null;
}

/** Retention, ms: covers a night or a pause of a working day. */
const KEPT_MS = 24 * 3_600_000;

/**
 * Channel rates from before an end lost its pods, by workload names. They replace measured rates until both
 * ends have had pods for a whole window; after that, measurements count. Forgets a channel at once if it
 * falls silent while its pods run. Rates remain with the end that observed them, so that memory reveals
 * nothing new to a namespace.
 */
export class ChannelMemory {
  readonly #maxChannels: number;
  readonly #windowMs: number;
  /** Key: the reporting namespace. The least recently seen channel is first. */
  readonly #byNamespace = new Map<string, Map<string, Entry>>();
  #size = 0;

  constructor(maxChannels: number, windowMs: number) {
    this.#maxChannels = maxChannels;
    this.#windowMs = windowMs;
  }

  get size(): number {
    return this.#size;
  }

  /** @param isWhole both ends have pods on nodes */
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

  /** Remembered channels that this build has not observed. Call once per build, after `note`. */
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

  setBack(nowMs: number): void {
    for (const entries of this.#byNamespace.values())
      for (const entry of entries.values()) {
        // Before `nowMs`, because the current build has not observed it.
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

  /** Evicts from the namespace with the most entries, so that none can displace the others. */
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
