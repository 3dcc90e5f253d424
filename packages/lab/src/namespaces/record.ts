import type { PathCounts, WireCounts } from "./wire/counters.ts";
import type { PacketOutcome } from "./wire/packet-ring.ts";

export interface PacketFilter {
  readonly source?: string | undefined;
  readonly target?: string | undefined;
  readonly family?: 4 | 6 | undefined;
  /** "icmp" matches both IP families. */
  readonly protocol?: "icmp" | "udp" | "tcp" | undefined;
  readonly sourcePort?: number | undefined;
  readonly targetPort?: number | undefined;
  /** Only packets that entered after this `NamespaceLab.mark()`. */
  readonly since?: number | undefined;
}

/** Exact nearest-rank quantiles in ms; null without any. */
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

/** Measured record of the selected packets, by kernel timestamps. */
export interface WireRecord {
  readonly counts: PathCounts;
  /** Exit minus entry of delivered packets. */
  readonly added: ExactTimes;
  /** Added time minus intended time: the emulator's inaccuracy. */
  readonly lateness: ExactTimes;
  /** Mean of |added_i - added_(i-1)| per path in order of exit; null below two packets. */
  readonly variationMs: number | null;
  /** Delivered packets without a kernel timestamp; their times come from the emulator's clock. */
  readonly unstamped: number;
  readonly waiting: number;
  /** Packets since the filter's mark that the ring has overwritten; nonzero: only the newest remain. */
  readonly forgotten: number;
}

export interface WireTotals {
  readonly paths: readonly (PathCounts & { readonly source: string; readonly target: string })[];
  readonly wire: WireCounts;
}

export interface WirePacket<Node = string> {
  /** From 0 in order of entry. */
  readonly number: number;
  readonly source: Node;
  readonly target: Node;
  readonly family: 4 | 6;
  /** IP protocol: 1 ICMP, 6 TCP, 17 UDP, 58 ICMPv6. */
  readonly protocol: number;
  /** UDP and TCP; else 0. */
  readonly sourcePort: number;
  readonly targetPort: number;
  /** ICMP echo requests and replies; else null. */
  readonly echo: { readonly reply: boolean; readonly id: number; readonly sequence: number } | null;
  /** First 80 bytes from the transport header on, as received. */
  readonly head: Uint8Array;
  /** Whole Ethernet frame. */
  readonly bytes: number;
  /** Kernel timestamp, ns since 1970. */
  readonly enteredAtNs: bigint;
  readonly leftAtNs: bigint | null;
  /** Exit minus entry. */
  readonly addedMs: number | null;
  /** Null if it was not to be delivered. */
  readonly intendedMs: number | null;
  readonly outcome: PacketOutcome;
  readonly duplicate: boolean;
  readonly corrupted: boolean;
  readonly reordered: boolean;
  /** Both times are the kernel's. */
  readonly stamped: boolean;
}

export interface PacketList<Node = string> {
  readonly packets: readonly WirePacket<Node>[];
  readonly forgotten: number;
}

/** A delivered request and its first delivered answer. */
export interface WireExchange {
  readonly request: WirePacket;
  readonly answer: WirePacket;
  /** Time of both in the emulator: the round trip without the kernel's part. */
  readonly addedMs: number;
  /** From the request's entry to the answer's exit, so including the responder and its kernel. */
  readonly roundTripMs: number;
}
