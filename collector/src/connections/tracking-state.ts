// Whether what the kernel tracks is all that the node's pods exchange. Where it isn't, it is said: a count of
// nothing is no evidence of no traffic.
import { InterfaceChoice } from "@isochrone/telemetry";

/** Metric label `state` of isochrone_collector_connections_state; the first that holds. */
export const TRACKING_STATES = [
  /** The kernel refuses: no CAP_NET_ADMIN in the node's network, or no connection tracking. */
  "refused",
  /** net.netfilter.nf_conntrack_acct is 0: no entry has counters. */
  "accounting_off",
  /** The kernel reports no ends of connections (net.netfilter.nf_conntrack_events is 0), or few of them. */
  "ends_unreported",
  /** The interfaces carry far more than what is tracked: a CNI passes connection tracking by. */
  "bypassed",
  /** The table has no room: connections are dropped, or end early. */
  "table_full",
  /** Ends came faster than they were read: the last bytes of some connections are not counted. */
  "overflowed",
  "ok",
] as const;
export type TrackingState = (typeof TRACKING_STATES)[number];

/** What one round has found. */
interface RoundFacts {
  /** Whether the kernel counts bytes of new connections; null: it doesn't say. */
  readonly isAccounting: boolean | null;
  /** Entries of the table without counters, and with. */
  readonly uncounted: number;
  readonly counted: number;
  /** Since the round before; of the node's interfaces null where that isn't known. */
  readonly trackedBytes: number;
  readonly interfaceBytes: number | null;
  readonly drops: number;
  readonly overflows: number;
  /** Whether the kernel is set to report ends. */
  readonly isReportingEnds: boolean;
  /** Connections that went without a report of their end, and reported ends. */
  readonly lostEnds: number;
  readonly heardEnds: number;
}

/** Below this nothing is said of the shares: keep-alives and probes. */
const LEAST_INTERFACE_BYTES = 1024 * 1024;
/** Interfaces count frames, acknowledgements and what isn't IP; never ten times as much. */
const LEAST_SHARE = 0.1;
/** A burst may lie before the dump and behind the counters. */
const BYPASSED_ROUNDS = 3;
/** Fewer lost ends say nothing: a few connections may be missed by two dumps. */
const LEAST_LOST_ENDS = 10;
/** What was lost is said for so many rounds: five minutes by default. */
const LOSS_ROUNDS = 30;

/** Judges rounds. */
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
    // Ends lost by an overflow or an eviction show after two more dumps, and have states of their own.
    const isExplained = Math.min(this.#sinceLoss.table_full, this.#sinceLoss.overflowed) <= 2;
    return lostEnds >= LEAST_LOST_ENDS && lostEnds > heardEnds && !isExplained;
  }
}

function isShort({ interfaceBytes, trackedBytes }: RoundFacts): boolean {
  if (interfaceBytes === null || interfaceBytes < LEAST_INTERFACE_BYTES) return false;
  return trackedBytes < interfaceBytes * LEAST_SHARE;
}

/**
 * Bytes that the node's cards have carried both ways, from /proc/net/dev; null where it has none that can be
 * told from those of pods.
 * @param cards as the kernel knows them; empty: their names decide
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
