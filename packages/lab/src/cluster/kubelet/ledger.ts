import type { ReceivedCounts, Usage } from "../pod/protocol.ts";

/** Requests that one workload received from another, by the receiving applications' own counters. */
export interface ReceiverCount {
  /** The calling workload; "unknown" for callers outside the cluster, such as the load generator. */
  readonly source: string;
  readonly target: string;
  /** Cumulative since the cluster began, ended pods included. */
  readonly count: number;
}

/** Sums of what ended containers received and used, so that totals never fall. */
export class Ledger {
  readonly #received = new Map<string, Map<string, number>>();
  #cpuSeconds = 0;

  get cpuSeconds(): number {
    return this.#cpuSeconds;
  }

  /** Adds the last figures of a container that has ended. */
  close(workload: string, received: ReceivedCounts, usage: Usage): void {
    this.#cpuSeconds += usage.cpuSeconds;
    addCounts(this.#received, workload, received);
  }

  /** Adds what is recorded here to the totals by target and source. */
  addTo(totals: Map<string, Map<string, number>>): void {
    for (const [target, sources] of this.#received) addCounts(totals, target, Object.fromEntries(sources));
  }
}

/** Adds counts of one target to the totals by target and source. */
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
