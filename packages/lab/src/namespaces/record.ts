import type { PathCounts, WireCounts } from "./wire/counters.ts";
import type { PacketOutcome } from "./wire/packet-ring.ts";

/** Which packets of the record are meant; what is left out isn't looked at. */
export interface PacketFilter {
  /** Names of nodes: who sent it, whom it was for. */
  readonly source?: string | undefined;
  readonly target?: string | undefined;
  readonly family?: 4 | 6 | undefined;
  /** "icmp" is that of either family. */
  readonly protocol?: "icmp" | "udp" | "tcp" | undefined;
  readonly sourcePort?: number | undefined;
  readonly targetPort?: number | undefined;
  /** Only packets that came in after this `NamespaceLab.mark()`. */
  readonly since?: number | undefined;
}

/** Exact nearest-rank quantiles of times in ms; null without any. */
export interface ExactTimes {
  readonly count: number;
  readonly minMs: number | null;
  readonly meanMs: number | null;
  readonly standardDeviationMs: number | null;
  readonly p50Ms: number | null;
  readonly p90Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number | null;
}

/** What happened to the packets that a filter means: the truth, by the kernel's stamps. */
export interface WireRecord {
  readonly counts: PathCounts;
  /** Exit minus entry of those that were delivered. */
  readonly added: ExactTimes;
  /** The same minus what was intended: the emulator's own inaccuracy. */
  readonly lateness: ExactTimes;
  /**
   * Mean of |added_i - added_(i-1)| over the delivered packets of each path, in the order of exit; null below
   * two.
   */
  readonly variationMs: number | null;
  /** Delivered packets of which a stamp is missing: their times are the emulator's own clock. */
  readonly unstamped: number;
  /** Packets that waited when the question came. */
  readonly waiting: number;
  /**
   * Packets since the filter's mark that the ring no longer holds; not 0: the rest of this record tells only
   * of the newest.
   */
  readonly forgotten: number;
}

/** Since the wire's start, without end. */
export interface WireTotals {
  readonly paths: readonly (PathCounts & { readonly source: string; readonly target: string })[];
  readonly wire: WireCounts;
}

/** One packet of the record. `Node`: how nodes are named. */
export interface WirePacket<Node = string> {
  /** Counts from 0 in the order of entry. */
  readonly number: number;
  readonly source: Node;
  readonly target: Node;
  readonly family: 4 | 6;
  /** Of IP: 1 ICMP, 6 TCP, 17 UDP, 58 ICMPv6. */
  readonly protocol: number;
  /** Of UDP and TCP, else 0. */
  readonly sourcePort: number;
  readonly targetPort: number;
  /** Of ICMP echo requests and replies, else null. */
  readonly echo: { readonly reply: boolean; readonly id: number; readonly sequence: number } | null;
  /** First 80 bytes from the transport header on, as they came in. */
  readonly head: Uint8Array;
  /** Of the whole Ethernet frame. */
  readonly bytes: number;
  /** Times of the kernel's stamps: ns since 1970. */
  readonly enteredAtNs: bigint;
  /** Null unless delivered. */
  readonly leftAtNs: bigint | null;
  /** Exit minus entry. */
  readonly addedMs: number | null;
  /** What exit minus entry should have been; null for what was not to be delivered. */
  readonly intendedMs: number | null;
  readonly outcome: PacketOutcome;
  /** It is the copy that the emulator made of another one. */
  readonly duplicate: boolean;
  readonly corrupted: boolean;
  readonly reordered: boolean;
  /** Both times are the kernel's. */
  readonly stamped: boolean;
}

export interface PacketList<Node = string> {
  readonly packets: readonly WirePacket<Node>[];
  /** As of {@link WireRecord}. */
  readonly forgotten: number;
}

/** A request that was delivered, and the first answer to it that was. */
export interface WireExchange {
  readonly request: WirePacket;
  readonly answer: WirePacket;
  /** Time that both spent in the emulator: the round-trip time but for what the kernel adds outside. */
  readonly addedMs: number;
  /**
   * From the request's entry to the answer's exit: as `addedMs`, plus the responder's own time and the
   * kernel's way to it.
   */
  readonly roundTripMs: number;
}
