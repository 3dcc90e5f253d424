import type { FastifyRequest } from "fastify";
import { BlockList, isIP } from "node:net";
import type { Principal } from "./gate.ts";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** Whether only this machine reaches an address or the name `localhost`. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family === 0 ? host === "localhost" : LOOPBACK.check(host, family === 6 ? "ipv6" : "ipv4");
}

/** Hexadecimal groups of an IPv6 address that name its network: one machine may have all addresses below. */
const NETWORK_GROUPS = 4;

/** What shares are counted by: an IPv4 address, or the /64 network of an IPv6 one. */
export function addressKey(address: string | undefined): string {
  if (address === undefined) return "unknown";
  if (!address.includes(":")) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (isIP(address) !== 6) return address;
  const [head = "", tail] = address.split("%", 1)[0]!.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const missing = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array.from({ length: missing }, () => "0"), ...last];
  return `${groups.slice(0, NETWORK_GROUPS).join(":")}::/64`;
}

/**
 * Whose share a request takes: that of who has proven who it is, else that of the address it comes from. The
 * pods of one account, such as the probes of all nodes, are apart from each other.
 */
export function clientKey(request: Pick<FastifyRequest, "ip"> & { principal?: Principal | null }): string {
  // A server without gates knows no principals.
  const principal = request.principal ?? null;
  return principal === null
    ? addressKey(request.ip)
    : `${principal.user} ${principal.pod?.uid ?? principal.node ?? ""}`;
}
