import { isIP } from "node:net";

/** 4 or 16 bytes of an address without zone; null: invalid. */
export function ipBytes(ip: string): Uint8Array | null {
  const version = isIP(ip);
  if (version === 0 || ip.includes("%")) return null;
  if (version === 4) return Uint8Array.from(ip.split("."), Number);
  const bytes = new Uint8Array(16);
  const [head = "", tail] = ip.split("::");
  bytes.set(groupBytes(head), 0);
  if (tail !== undefined) {
    const end = groupBytes(tail);
    bytes.set(end, 16 - end.length);
  }
  return bytes;
}

function groupBytes(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
