import { nearestRank, recordOf } from "@isochrone/primitives";
import type { ExactTimes, PacketList, WirePacket, WireRecord } from "../record.ts";
import { PATH_COUNTS, type PathCounts } from "./counters.ts";
import type { IndexFilter } from "./messages.ts";
import { FLAGS, HEAD_BYTES, OUTCOMES, type PacketOutcome, type PacketRing } from "./packet-ring.ts";

const PROTOCOLS: Readonly<Record<number, "icmp" | "udp" | "tcp">> = {
  1: "icmp",
  58: "icmp",
  6: "tcp",
  17: "udp",
};
const STAMPED = FLAGS.entryStamped | FLAGS.exitStamped;
const ECHO_TYPES: Readonly<Record<number, readonly [number, number]>> = { 1: [8, 0], 58: [128, 129] };
const COUNT_OF: Readonly<Record<PacketOutcome, keyof PathCounts | null>> = {
  waiting: null,
  delivered: "delivered",
  lost: "lost",
  cut: "cut",
  queue_full: "queueFull",
  refused: "refused",
};

export function readRecord(ring: PacketRing, filter: IndexFilter): WireRecord {
  const counts = recordOf(PATH_COUNTS, () => 0);
  const delivered: number[] = [];
  let waiting = 0;
  let unstamped = 0;
  const { forgotten } = visit(ring, filter, (place, packet) => {
    const flags = ring.flags[place]!;
    const outcome = OUTCOMES[ring.outcome[place]!]!;
    const count = COUNT_OF[outcome];
    if (count === null) waiting++;
    else counts[count]++;
    countFlags(counts, flags, ring.bytes[place]!);
    if (outcome !== "delivered") return;
    delivered.push(packet);
    if ((flags & STAMPED) !== STAMPED) unstamped++;
  });
  const places = delivered.map((packet) => ring.placeOf(packet));
  const added = Float64Array.from(places, (place) => addedMs(ring, place));
  return {
    counts,
    added: exactTimes(added),
    lateness: exactTimes(Float64Array.from(places, (place, i) => added[i]! - ring.intendedMs[place]!)),
    variationMs: variationMs(ring, places),
    unstamped,
    waiting,
    forgotten,
  };
}

/** Matching packets in order of entry. `baseNs`: time base of the ring, since 1970. */
export function readPackets(ring: PacketRing, filter: IndexFilter, baseNs: bigint): PacketList<number> {
  const packets: WirePacket<number>[] = [];
  const { forgotten } = visit(ring, filter, (place, packet) =>
    packets.push(readPacket(ring, place, packet, baseNs)),
  );
  return { packets, forgotten };
}

function exactTimes(values: Float64Array): ExactTimes {
  const sorted = values.toSorted();
  const count = sorted.length;
  const mean = count === 0 ? null : sorted.reduce((sum, value) => sum + value, 0) / count;
  const squares = mean === null ? 0 : sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return {
    count,
    minMs: nearestRank(sorted, 0),
    meanMs: mean,
    standardDeviationMs: count < 2 ? null : Math.sqrt(squares / (count - 1)),
    p50Ms: nearestRank(sorted, 0.5),
    p90Ms: nearestRank(sorted, 0.9),
    p99Ms: nearestRank(sorted, 0.99),
    maxMs: nearestRank(sorted, 1),
  };
}

function visit(
  ring: PacketRing,
  filter: IndexFilter,
  see: (place: number, packet: number) => void,
): { readonly forgotten: number } {
  const end = ring.written;
  const since = filter.since ?? 0;
  const first = Math.max(since, end - ring.capacity);
  for (let packet = first; packet < end; packet++) {
    const place = ring.placeOf(packet);
    if (matches(ring, place, filter)) see(place, packet);
  }
  return { forgotten: first - since };
}

function matches(ring: PacketRing, place: number, filter: IndexFilter): boolean {
  const { source, target, family, protocol, sourcePort, targetPort } = filter;
  if (source !== undefined && ring.source[place] !== source) return false;
  if (target !== undefined && ring.target[place] !== target) return false;
  if (family !== undefined && familyOf(ring, place) !== family) return false;
  if (protocol !== undefined && PROTOCOLS[ring.protocol[place]!] !== protocol) return false;
  if (sourcePort !== undefined && portAt(ring, place, 0) !== sourcePort) return false;
  return targetPort === undefined || portAt(ring, place, 2) === targetPort;
}

function countFlags(counts: Record<keyof PathCounts, number>, flags: number, bytes: number): void {
  if ((flags & FLAGS.duplicate) !== 0) counts.duplicated++;
  else {
    counts.entered++;
    counts.enteredBytes += bytes;
  }
  if ((flags & FLAGS.corrupted) !== 0) counts.corrupted++;
  if ((flags & FLAGS.reordered) !== 0) counts.reordered++;
}

/** Computed per path, because other paths' packets are unrelated. */
function variationMs(ring: PacketRing, places: readonly number[]): number | null {
  const last = new Map<number, number>();
  let sum = 0;
  let steps = 0;
  for (const place of places.toSorted((a, b) => ring.exitNs[a]! - ring.exitNs[b]!)) {
    const path = ring.source[place]! * 256 + ring.target[place]!;
    const added = addedMs(ring, place);
    const before = last.get(path);
    if (before !== undefined) {
      sum += Math.abs(added - before);
      steps++;
    }
    last.set(path, added);
  }
  return steps === 0 ? null : sum / steps;
}

function readPacket(ring: PacketRing, place: number, packet: number, baseNs: bigint): WirePacket<number> {
  const flags = ring.flags[place]!;
  const protocol = ring.protocol[place]!;
  const delivered = OUTCOMES[ring.outcome[place]!] === "delivered";
  const intendedMs = ring.intendedMs[place]!;
  const from = place * HEAD_BYTES;
  return {
    number: packet,
    source: ring.source[place]!,
    target: ring.target[place]!,
    family: familyOf(ring, place),
    protocol,
    sourcePort: portAt(ring, place, 0),
    targetPort: portAt(ring, place, 2),
    echo: echoOf(ring, place),
    head: ring.heads.slice(from, from + ring.headLength[place]!),
    bytes: ring.bytes[place]!,
    enteredAtNs: baseNs + BigInt(Math.round(ring.entryNs[place]!)),
    leftAtNs: delivered ? baseNs + BigInt(Math.round(ring.exitNs[place]!)) : null,
    addedMs: delivered ? addedMs(ring, place) : null,
    intendedMs: Number.isNaN(intendedMs) ? null : intendedMs,
    outcome: OUTCOMES[ring.outcome[place]!]!,
    duplicate: (flags & FLAGS.duplicate) !== 0,
    corrupted: (flags & FLAGS.corrupted) !== 0,
    reordered: (flags & FLAGS.reordered) !== 0,
    stamped: (flags & STAMPED) === STAMPED,
  };
}

function addedMs(ring: PacketRing, place: number): number {
  return (ring.exitNs[place]! - ring.entryNs[place]!) / 1e6;
}

function familyOf(ring: PacketRing, place: number): 4 | 6 {
  return (ring.flags[place]! & FLAGS.v6) === 0 ? 4 : 6;
}

/** 0 without ports. */
function portAt(ring: PacketRing, place: number, offset: number): number {
  const protocol = ring.protocol[place]!;
  return protocol === 6 || protocol === 17 ? wordAt(ring, place, offset) : 0;
}

function echoOf(ring: PacketRing, place: number): WirePacket["echo"] {
  const types = ECHO_TYPES[ring.protocol[place]!];
  const type = ring.heads[place * HEAD_BYTES]!;
  if (types === undefined || !types.includes(type)) return null;
  return { reply: type === types[1], id: wordAt(ring, place, 4), sequence: wordAt(ring, place, 6) };
}

function wordAt(ring: PacketRing, place: number, offset: number): number {
  const at = place * HEAD_BYTES + offset;
  return ring.heads[at]! * 256 + ring.heads[at + 1]!;
}
