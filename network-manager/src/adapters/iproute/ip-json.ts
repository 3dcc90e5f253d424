import {
  canonicalAddress,
  FIRST_TABLE,
  portsOf,
  ROUTE_PROTOCOL,
  RULE_PREFERENCES,
  SLOTS,
  TUNNEL,
  type IpFamily,
  type Match,
  type Route,
  type Rule,
  type Tunnel,
  type Way,
} from "../../domain/kernel-state.ts";
import { arrayOf, numberOf, objectOf, textOf } from "./json.ts";

/** Parses `ip -j rule show` into the manager's rules: by protocol, preference and table. */
export function parseRules(text: string, family: IpFamily): Rule[] {
  return arrayOf(text, "ip rule").flatMap((entry) => {
    const { src, dst, ipproto, sport, dport, table, priority, protocol } = objectOf(entry, "ip rule");
    if (Number(protocol) !== ROUTE_PROTOCOL) return [];
    if (typeof src !== "string" || typeof dst !== "string" || (ipproto !== "tcp" && ipproto !== "udp"))
      return [];
    const match: Match = {
      family,
      protocol: ipproto,
      source: canonicalAddress(src),
      sourcePort: typeof sport === "number" ? sport : null,
      target: canonicalAddress(dst),
      targetPort: typeof dport === "number" ? dport : null,
    };
    const isOwn = priority === RULE_PREFERENCES[portsOf(match)] && isOwnTable(Number(table));
    return isOwn ? [{ match, table: Number(table) }] : [];
  });
}

/** Parses `ip -j route show table all proto 150`. */
export function parseRoutes(text: string, family: IpFamily): Route[] {
  return arrayOf(text, "ip route").flatMap((entry) => {
    const { dst, gateway, dev, table, encap } = objectOf(entry, "ip route");
    // A tunnel route has `dst` twice; the second is the destination of outer packets.
    const next = typeof encap === "string" ? dst : gateway;
    if ((encap === undefined && dst !== "default") || !isOwnTable(Number(table))) return [];
    const device = textOf(dev, "ip route dev");
    return [
      {
        family,
        table: Number(table),
        gateway: canonicalAddress(textOf(next, "ip route gateway")),
        device,
      },
    ];
  });
}

function isOwnTable(table: number): boolean {
  return table >= FIRST_TABLE && table < FIRST_TABLE + SLOTS;
}

interface Links {
  readonly mtus: ReadonlyMap<string, number>;
  readonly tunnel: Tunnel | null;
}

/** Parses `ip -d -j link show`. A foreign device with the tunnel's name is not the manager's. */
export function parseLinks(text: string): Links {
  const mtus = new Map<string, number>();
  let tunnel: Tunnel | null = null;
  for (const entry of arrayOf(text, "ip link")) {
    const { ifname, mtu, flags, linkinfo = {} } = objectOf(entry, "ip link");
    const name = textOf(ifname, "ip link ifname");
    const longest = numberOf(mtu, "ip link mtu");
    mtus.set(name, longest);
    const { info_kind: kind, info_data: data = {} } = objectOf(linkinfo, "ip link linkinfo");
    const { port, external, gpe } = objectOf(data, "ip link info_data");
    const isTunnel = kind === "vxlan" && port === TUNNEL.port && external === true && gpe === true;
    if (name !== TUNNEL.device || !isTunnel) continue;
    tunnel = { mtu: Array.isArray(flags) && flags.includes("UP") ? longest : 0 };
  }
  return { mtus, tunnel };
}

/** Parses `ip -j -force -batch` of `route get` lines: one list per reachable address. */
export function parseWays(text: string): Map<string, Way> {
  const ways = new Map<string, Way>();
  for (const line of text.split("\n")) {
    for (const entry of arrayOf(line, "ip route get")) {
      const { dst, dev, gateway, type } = objectOf(entry, "ip route get");
      const address = canonicalAddress(textOf(dst, "ip route get dst"));
      const device = textOf(dev, "ip route get dev");
      ways.set(address, {
        device,
        gateway: typeof gateway === "string" ? canonicalAddress(gateway) : null,
        isLocal: type === "local",
      });
    }
  }
  return ways;
}
