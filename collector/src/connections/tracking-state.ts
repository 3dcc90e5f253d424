// Detects whether connection tracking misses traffic of the node's pods: a zero count doesn't prove silence.
import { InterfaceChoice } from "@isochrone/telemetry";

/** Metric label `state` of isochrone_collector_connections_state; the first that applies. */
export const TRACKING_STATES = [
  /** The kernel refuses: no CAP_NET_ADMIN in the node's network, or no connection tracking. */
  "refused",
  /** net.netfilter.nf_conntrack_acct is 0: entries have no counters. */
  "accounting_off",
  /** The kernel reports no (net.netfilter.nf_conntrack_events is 0) or few ends of connections. */
  "ends_unreported",
  /** Interfaces carry far more than is tracked: the CNI bypasses connection tracking. */
  "bypassed",
  /** The table is full: connections are dropped, or end early. */
  "table_full",
  /** End events arrived faster than they were read: last bytes are missing. */
  "overflowed",
  "ok",
] as const;
export type TrackingState = (typeof TRACKING_STATES)[number];

interface RoundFacts {
  readonly isAccounting: boolean | null;
  readonly uncounted: number;
  readonly counted: number;
  /** Since the previous round; interface bytes are null if unknown. */
  readonly trackedBytes: number;
  readonly interfaceBytes: number | null;
  readonly drops: number;
  readonly overflows: number;
  readonly isReportingEnds: boolean;
  readonly lostEnds: number;
  readonly heardEnds: number;
}

/** Below this, shares aren't judged: keep-alives and probes. */
const LEAST_INTERFACE_BYTES = 1024 * 1024;
/** Interfaces also count frame headers, acknowledgements and non-IP traffic, but never ten times as much. */
const LEAST_SHARE = 0.1;
/** A burst may fall between dump and counters. */
const BYPASSED_ROUNDS = 3;
/** Fewer lost ends prove nothing: two dumps may miss a few connections. */
const LEAST_LOST_ENDS = 10;
/** Rounds for which a loss is shown; five minutes by default. */
const LOSS_ROUNDS = 30;

export class TrackingJudge {
  #short = 0;
  readonly #sinceLoss = { ends_unreported: Infinity, table_full: Infinity, overflowed: Infinity };

  judge(facts: RoundFacts): TrackingState {
    const { isAccounting, uncounted, counted, drops, overflows } = facts;
    this.#short = isShort(facts) ? this.#short + 1 : 0;
    this.#sinceLoss.table_full = drops > 0 ? 0 : this.#sinceLoss.table_full + 1;
    this.#sinceLoss.overflowed = overflows > 0 ? 0 : this.#sinceLoss.overflowed + 1;
    this.#sinceLoss.ends_unreported = this.#isUnreported(facts) ? 0 : this.#sinceLoss.ends_unreported + 1;
    if (isAccounting === false || (isAccounting === null && uncounted > 0 && counted === 0))
      return "accounting_off";
    if (this.#sinceLoss.ends_unreported < LOSS_ROUNDS) return "ends_unreported";
    if (this.#short >= BYPASSED_ROUNDS) return "bypassed";
    const losses = ["table_full", "overflowed"] as const;
    return losses.find((loss) => this.#sinceLoss[loss] < LOSS_ROUNDS) ?? "ok";
  }

  #isUnreported({ isReportingEnds, lostEnds, heardEnds }: RoundFacts): boolean {
    if (!isReportingEnds) return true;
    // Ends lost by overflow or eviction appear two dumps later and have their own states.
    const isExplained = Math.min(this.#sinceLoss.table_full, this.#sinceLoss.overflowed) <= 2;
    return lostEnds >= LEAST_LOST_ENDS && lostEnds > heardEnds && !isExplained;
  }
}

function isShort({ interfaceBytes, trackedBytes }: RoundFacts): boolean {
  if (interfaceBytes === null || interfaceBytes < LEAST_INTERFACE_BYTES) return false;
  return trackedBytes < interfaceBytes * LEAST_SHARE;
}

/**
 * Bytes of the node's network cards in both directions, from /proc/net/dev; null if no card can be told from
 * pods' interfaces.
 * @param cards as the kernel lists them; empty: decide by names
 */
export function interfaceBytesOf(text: string, cards: readonly string[]): number | null {
  const found: (readonly [name: string, bytes: number])[] = [];
  const choice = new InterfaceChoice();
  for (const line of text.split("\n")) {
    const [, name = "", counters = ""] = /^\s*([^:\s]+):\s*(.*)$/.exec(line) ?? [];
    const columns = counters.split(/\s+/).map(Number);
    const [received = NaN, sent = NaN] = [columns[0], columns[8]];
    if (!Number.isFinite(received + sent)) continue;
    found.push([name, received + sent]);
    choice.see(name);
  }
  const counted = found.filter(([name]) => (cards.length > 0 ? cards.includes(name) : choice.counts(name)));
  return counted.length === 0 ? null : counted.reduce((sum, [, bytes]) => sum + bytes, 0);
}
