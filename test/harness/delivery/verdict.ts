import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { Ledger } from "./ledger.ts";
import { linkOf, type NumberSpread } from "./numbered-records.ts";

interface Account {
  readonly spread: NumberSpread;
  readonly records: number;
  readonly ledger: Ledger;
}

export interface Verdict {
  readonly acknowledged: number;
  readonly dropped: number;
  /** Numbers without an entry in the ledger. */
  readonly unexplained: number;
  readonly counted: number;
  readonly lost: number;
  /** Numbers that the graph counts more often than they were sent. */
  readonly doubled: number;
  readonly examples: readonly string[];
}

const MAX_EXAMPLES = 8;

/** The graph may or may not count dropped numbers, because a publisher that gave up can't know. */
export function judge(accounts: readonly Account[], graph: ClusterGraphSnapshot): Verdict {
  const counts = new Map<string, number>();
  for (const { source, target, rttMs } of graph.links) counts.set(`${source} ${target}`, rttMs.count);
  const sum = { acknowledged: 0, dropped: 0, unexplained: 0, counted: 0, lost: 0, doubled: 0 };
  const examples: string[] = [];
  for (const { spread, records, ledger } of accounts) {
    const expected = new Map<string, { least: number; most: number }>();
    for (let n = 0; n < records; n++) {
      const { source, target } = linkOf(spread, n);
      const key = `${source} ${target}`;
      const bounds = expected.get(key) ?? { least: 0, most: 0 };
      bounds.most++;
      if (ledger.acknowledged.has(n)) bounds.least++;
      expected.set(key, bounds);
    }
    const dropped = Object.values(ledger.dropped).reduce((total, count) => total + count, 0);
    sum.acknowledged += ledger.acknowledged.size;
    sum.dropped += dropped;
    sum.unexplained += Math.abs(records - ledger.acknowledged.size - dropped);
    for (const [key, { least, most }] of expected) {
      const counted = counts.get(key) ?? 0;
      sum.counted += counted;
      sum.lost += Math.max(0, least - counted);
      sum.doubled += Math.max(0, counted - most);
      if ((counted < least || counted > most) && examples.length < MAX_EXAMPLES)
        examples.push(`${key}: ${counted}, expected ${least}${most > least ? ` to ${most}` : ""}`);
    }
  }
  return { ...sum, examples };
}

export function isExact({ unexplained, lost, doubled }: Verdict): boolean {
  return unexplained === 0 && lost === 0 && doubled === 0;
}
