// IP addresses as the 16 bytes that packets carry; IPv4 as IPv4-mapped IPv6 (RFC 4291, 2.5.5.2).
import { isIP } from "node:net";

export const ADDRESS_BYTES = 16;

/** Null if invalid. Refuses zone identifiers (`%eth0`), which mean nothing to a peer. */
export function parseAddress(text: string): Uint8Array | null {
  const family = text.includes("%") ? 0 : isIP(text);
  if (family === 0) return null;
  const bytes = new Uint8Array(ADDRESS_BYTES);
  if (family === 4) {
    bytes[10] = bytes[11] = 0xff;
    writeIpv4(bytes, 12, text);
    return bytes;
  }
  const [head = "", tail] = text.split("::");
  const headEnd = writeGroups(bytes, 0, head);
  if (tail === undefined) return bytes;
  const scratch = new Uint8Array(ADDRESS_BYTES);
  const length = writeGroups(scratch, 0, tail);
  if (headEnd + length > ADDRESS_BYTES) return null;
  bytes.set(scratch.subarray(0, length), ADDRESS_BYTES - length);
  return bytes;
}

/** Returns 4 for IPv4-mapped addresses. `bytes` must be 16 long. */
export function familyOf(bytes: Uint8Array): 4 | 6 {
  for (let i = 0; i < 10; i++) if (bytes[i] !== 0) return 6;
  return bytes[10] === 0xff && bytes[11] === 0xff ? 4 : 6;
}

/** True for addresses that no single node can have: unspecified, multicast, broadcast. */
export function isUnusableTarget(bytes: Uint8Array): boolean {
  if (familyOf(bytes) === 4) {
    const first = bytes[12] ?? 0;
    return first === 0 || first >= 224;
  }
  return bytes[0] === 0xff || bytes.every((byte) => byte === 0);
}

function writeGroups(into: Uint8Array, from: number, text: string): number {
  if (text === "") return from;
  let at = from;
  for (const group of text.split(":")) {
    if (group.includes(".")) {
      writeIpv4(into, at, group);
      at += 4;
      continue;
    }
    const value = Number.parseInt(group, 16);
    into[at++] = value >> 8;
    into[at++] = value & 0xff;
  }
  return at;
}

function writeIpv4(into: Uint8Array, at: number, text: string): void {
  const parts = text.split(".");
  for (let i = 0; i < 4; i++) into[at + i] = Number(parts[i]);
}
