import type { Random } from "@isochrone/runtime";

/** Bytes of an Ethernet header. */
export const ETHERNET_BYTES = 14;
const ETHERTYPE_V4 = 0x0800;
const ETHERTYPE_V6 = 0x86dd;
const V6_HEADER_BYTES = 40;
const SWAP_REACH_BYTES = 32;

/** Where what stands in a frame; one object per reader, filled again for every frame. */
export interface FrameLayout {
  family: 4 | 6;
  protocol: number;
  /** Of the transport header, from the frame's begin. */
  transportAt: number;
  /** Behind the IP packet: Ethernet pads short frames. */
  end: number;
}

/** Reads the headers of the frame at `at`; false when it is no whole IP packet. */
export function readFrame(bytes: Buffer, at: number, length: number, into: FrameLayout): boolean {
  if (length < ETHERNET_BYTES + 20) return false;
  const ip = at + ETHERNET_BYTES;
  const type = bytes.readUInt16BE(at + 12);
  if (type === ETHERTYPE_V4) {
    into.family = 4;
    into.protocol = bytes[ip + 9]!;
    into.transportAt = ETHERNET_BYTES + (bytes[ip]! & 15) * 4;
    into.end = ETHERNET_BYTES + bytes.readUInt16BE(ip + 2);
  } else if (type === ETHERTYPE_V6 && length >= ETHERNET_BYTES + V6_HEADER_BYTES) {
    into.family = 6;
    into.protocol = bytes[ip + 6]!;
    into.transportAt = ETHERNET_BYTES + V6_HEADER_BYTES;
    into.end = into.transportAt + bytes.readUInt16BE(ip + 4);
  } else return false;
  return into.transportAt <= into.end && into.end <= length;
}

/**
 * Flips one bit behind the IP header. The rest stays, so that the packet still finds its receiver's checksum
 * test.
 */
export function flipBit(bytes: Buffer, at: number, layout: FrameLayout, random: Random): void {
  const bits = (layout.end - layout.transportAt) * 8;
  if (bits === 0) return;
  const bit = Math.floor(random.next() * bits);
  bytes[at + layout.transportAt + (bit >> 3)]! ^= 1 << (bit & 7);
}

/**
 * Exchanges two 16-bit words among the last 32 bytes that differ: an Internet checksum is a sum, it stays the
 * same. False when all words there are alike.
 */
export function swapWords(bytes: Buffer, at: number, layout: FrameLayout, random: Random): boolean {
  const words = Math.floor(Math.min(SWAP_REACH_BYTES, layout.end - layout.transportAt - 8) / 2);
  if (words < 2) return false;
  // The words must lie as the checksum's do: at an even distance from the transport header.
  const even = (layout.end - layout.transportAt) & ~1;
  const first = at + layout.transportAt + even - 2 * words;
  const start = Math.floor(random.next() * words);
  for (let i = 0; i < words; i++) {
    const a = first + 2 * ((start + i) % words);
    const b = first + 2 * ((start + i + 1) % words);
    const word = bytes.readUInt16BE(a);
    const other = bytes.readUInt16BE(b);
    if (word === other) continue;
    bytes.writeUInt16BE(other, a);
    bytes.writeUInt16BE(word, b);
    return true;
  }
  return false;
}
