import type { ReceivedCounts, Usage } from "../pod/protocol.ts";

export interface ReceiverCount {
  /** "unknown" for callers outside the cluster, such as the load generator. */
  readonly source: string;
  readonly target: string;
  /** Cumulative since the cluster began, including ended pods. */
  readonly count: number;
}

/** Totals of ended containers, so that sums never fall. */
export class Ledger {
  readonly #received = new Map<string, Map<string, number>>();
  #cpuSeconds = 0;

  get cpuSeconds(): number {
    return this.#cpuSeconds;
  }

  close(workload: string, received: ReceivedCounts, usage: Usage): void {
    this.#cpuSeconds += usage.cpuSeconds;
    addCounts(this.#received, workload, received);
  }

  addTo(totals: Map<string, Map<string, number>>): void {
    for (const [target, sources] of this.#received) addCounts(totals, target, Object.fromEntries(sources));
  }
}

export function addCounts(
  totals: Map<string, Map<string, number>>,
  target: string,
  received: ReceivedCounts,
): void {
  let sources = totals.get(target);
  if (sources === undefined) totals.set(target, (sources = new Map()));
  for (const [source, count] of Object.entries(received))
    sources.set(source, (sources.get(source) ?? 0) + count);
}
