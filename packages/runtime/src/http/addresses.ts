import type { FastifyRequest } from "fastify";
import { BlockList, isIP } from "node:net";
import type { Principal } from "./gate.ts";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

export function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family === 0 ? host === "localhost" : LOOPBACK.check(host, family === 6 ? "ipv6" : "ipv4");
}

/** Groups of an IPv6 address that name its network: one machine may use all addresses below. */
const NETWORK_GROUPS = 4;

/** Key for shares: an IPv4 address, or the /64 network of an IPv6 address. */
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

/** Key of the client's share: the proven identity, distinct for pods of an account, else the address. */
export function clientKey(request: Pick<FastifyRequest, "ip"> & { principal?: Principal | null }): string {
  const principal = request.principal ?? null;
  return principal === null
    ? addressKey(request.ip)
    : `${principal.user} ${principal.pod?.uid ?? principal.node ?? ""}`;
}
