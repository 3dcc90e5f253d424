import type { AmountsByNode, AssumedPod } from "@isochrone/placement";

/** A decision that the graphs don't show yet. */
export interface LedgerEntry {
  readonly namespace: string;
  readonly workflow: string;
  readonly workload: string;
  readonly pod: string;
  readonly node: string;
  /** What the pod will use; null = not known, nothing is deducted. */
  readonly cpuMillicores: number | null;
  readonly memoryBytes: number | null;
}

/** Beyond this many the oldest entries go: a scheduler places some hundred pods a second at most. */
const MAX_ENTRIES = 20_000;

/** Remembers decisions for a while, so that a burst of pods doesn't herd to the node that was best before the first of them. */
export class Ledger {
  readonly #keepMs: number;
  /** By namespace/pod, oldest first. */
  readonly #entries = new Map<string, { readonly entry: LedgerEntry; readonly atMs: number }>();

  /** `keepMs` 0 remembers nothing. */
  constructor(keepMs: number) {
    this.#keepMs = keepMs;
  }

  /** A later decision on the same pod replaces the former. */
  record(entry: LedgerEntry, nowMs: number): void {
    if (this.#keepMs === 0) return;
    const key = `${entry.namespace}/${entry.pod}`;
    this.#entries.delete(key);
    this.#entries.set(key, { entry, atMs: nowMs });
    if (this.#entries.size > MAX_ENTRIES) this.#entries.delete(this.#entries.keys().next().value!);
  }

  /** Drops what is too old. Times are monotonic milliseconds. */
  expire(nowMs: number): void {
    for (const [key, { atMs }] of this.#entries) {
      if (nowMs - atMs < this.#keepMs) break;
      this.#entries.delete(key);
    }
  }

  /** The pods of a workflow that were sent somewhere, except `pod`. */
  assumed(namespace: string, workflow: string, pod: string): AssumedPod[] {
    const pods: AssumedPod[] = [];
    for (const { entry } of this.#entries.values()) {
      if (entry.namespace !== namespace || entry.workflow !== workflow || entry.pod === pod) continue;
      pods.push({ workload: entry.workload, name: entry.pod, node: entry.node });
    }
    return pods;
  }

  /** What all remembered pods, except that one, will use, by node. */
  assumedUse(namespace: string, pod: string): AmountsByNode {
    const use = new Map<string, { cpuMillicores: number; memoryBytes: number }>();
    for (const { entry } of this.#entries.values()) {
      if (entry.namespace === namespace && entry.pod === pod) continue;
      const sum = use.get(entry.node) ?? { cpuMillicores: 0, memoryBytes: 0 };
      sum.cpuMillicores += entry.cpuMillicores ?? 0;
      sum.memoryBytes += entry.memoryBytes ?? 0;
      use.set(entry.node, sum);
    }
    return use;
  }

  get size(): number {
    return this.#entries.size;
  }
}
