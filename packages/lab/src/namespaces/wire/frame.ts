import type { Random } from "@isochrone/runtime";

export const ETHERNET_BYTES = 14;
const ETHERTYPE_V4 = 0x0800;
const ETHERTYPE_V6 = 0x86dd;
const V6_HEADER_BYTES = 40;
const SWAP_REACH_BYTES = 32;

/** Offsets in a frame; one object per reader, reused. */
export interface FrameLayout {
  family: 4 | 6;
  protocol: number;
  transportAt: number;
  /** End of the IP packet: Ethernet pads short frames. */
  end: number;
}

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

/** Flips a bit after the IP header, so that the receiver's transport checksum detects it. */
export function flipBit(bytes: Buffer, at: number, layout: FrameLayout, random: Random): void {
  const bits = (layout.end - layout.transportAt) * 8;
  if (bits === 0) return;
  const bit = Math.floor(random.next() * bits);
  bytes[at + layout.transportAt + (bit >> 3)]! ^= 1 << (bit & 7);
}

/**
 * Swaps two different 16-bit words among the last 32 bytes, which preserves an Internet checksum. Returns
 * false if all are equal.
 */
export function swapWords(bytes: Buffer, at: number, layout: FrameLayout, random: Random): boolean {
  const words = Math.floor(Math.min(SWAP_REACH_BYTES, layout.end - layout.transportAt - 8) / 2);
  if (words < 2) return false;
  // Words must align with the checksum's: at an even distance from the transport header.
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
