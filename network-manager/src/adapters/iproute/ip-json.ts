// What `ip -j` prints of rules, routes and ways.
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

/** The manager's rules of `ip -j rule show`: by who wrote them, their preference and their table. */
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

/** The manager's routes of `ip -j route show table all proto 150`. */
export function parseRoutes(text: string, family: IpFamily): Route[] {
  return arrayOf(text, "ip route").flatMap((entry) => {
    const { dst, gateway, dev, table, encap } = objectOf(entry, "ip route");
    // Of a route by the tunnel, `ip` prints `dst` twice; the second one is where its outer packets go.
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
  /** By name of the device. */
  readonly mtus: ReadonlyMap<string, number>;
  readonly tunnel: Tunnel | null;
}

/** Of `ip -d -j link show`. A device of the tunnel's name that is none isn't the manager's. */
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

/** Of `ip -j -force -batch` with `route get` lines: one list for each address that can be reached. */
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
