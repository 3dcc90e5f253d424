import { ipBytes } from "@isochrone/primitives/ip";
import type { Block, Libc } from "./libc.ts";
import { SYS } from "./sys.ts";

export const SOCKADDR_BYTES = 28;
const SOCKADDR_IN_BYTES = 16;

/**
 * An IP address and port in kernel form. Created once per peer: converting text per packet costs more than
 * the send.
 */
export interface SocketAddress {
  readonly family: 4 | 6;
  readonly block: Block;
  readonly bytes: number;
}

export function socketAddress(libc: Libc, ip: string, port: number): SocketAddress {
  const address = ipBytes(ip);
  if (address === null) {
    throw new RangeError(`socket address must be an IP address without zone, got ${JSON.stringify(ip)}`);
  }
  const family = address.length === 4 ? 4 : 6;
  const block = libc.block(SOCKADDR_BYTES);
  const { view, bytes } = block;
  view.setUint16(0, family === 4 ? SYS.AF_INET : SYS.AF_INET6, true);
  view.setUint16(2, port);
  bytes.set(address, family === 4 ? 4 : 8);
  return { family, block, bytes: family === 4 ? SOCKADDR_IN_BYTES : SOCKADDR_BYTES };
}

export function ipOf(view: DataView, offset: number): string {
  const family = view.getUint16(offset, true);
  if (family === SYS.AF_INET) {
    const at = offset + 4;
    return `${view.getUint8(at)}.${view.getUint8(at + 1)}.${view.getUint8(at + 2)}.${view.getUint8(at + 3)}`;
  }
  if (family !== SYS.AF_INET6) return "";
  const groups: number[] = [];
  for (let i = 0; i < 8; i++) groups.push(view.getUint16(offset + 8 + 2 * i));
  return ipv6Text(groups);
}

export function portOf(view: DataView, offset: number): number {
  return view.getUint16(offset + 2);
}

/** RFC 5952: lower case, longest run of at least two zero groups shortened, IPv4-mapped with dots. */
function ipv6Text(groups: readonly number[]): string {
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6);
    return `::ffff:${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
  }
  let best = { from: -1, length: 1 };
  for (let from = 0; from < 8; from++) {
    let length = 0;
    while (groups[from + length] === 0) length++;
    if (length > best.length) best = { from, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (best.from < 0) return hex.join(":");
  return `${hex.slice(0, best.from).join(":")}::${hex.slice(best.from + best.length).join(":")}`;
}
