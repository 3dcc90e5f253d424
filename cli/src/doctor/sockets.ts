import { inspectHostSockets, netPingObstacle } from "@isochrone/probe";
import type { IcmpOpening } from "@isochrone/probe";
import { systemClock } from "@isochrone/runtime/basics";
import { reasonOf } from "@isochrone/primitives";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";

export interface SocketFacts {
  readonly obstacle: string | null;
  readonly icmp: readonly IcmpOpening[];
  /** Why net-ping, the last fallback, is unusable; null: it is usable. */
  readonly netPing: string | null;
  /** Groups permitted to open datagram ICMP sockets; null: unknown. */
  readonly pingGroupRange: string | null;
  readonly bound: Readonly<Record<"UDP" | "TCP", string | null>>;
}

export async function lookAtSockets(): Promise<SocketFacts> {
  const { obstacle, icmp } = await inspectHostSockets((ms) => systemClock.sleep(ms));
  const range = await readFile("/proc/sys/net/ipv4/ping_group_range", "utf8").catch(() => null);
  return {
    obstacle,
    icmp,
    netPing: await netPingObstacle(),
    pingGroupRange: range === null ? null : range.trim().replaceAll(/\s+/g, " "),
    bound: { UDP: await bindUdp(), TCP: await bindTcp() },
  };
}

async function bindUdp(): Promise<string | null> {
  const socket = createSocket("udp4");
  try {
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    return null;
  } catch (error) {
    return reasonOf(error);
  } finally {
    socket.close();
  }
}

async function bindTcp(): Promise<string | null> {
  const listener = createServer();
  try {
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    return null;
  } catch (error) {
    return reasonOf(error);
  } finally {
    listener.close();
  }
}

export function judgeSockets({ obstacle, icmp, netPing, pingGroupRange, bound }: SocketFacts): Verdict[] {
  const range = pingGroupRange === null ? "" : `, ping_group_range ${pingGroupRange}`;
  const families = ([4, 6] as const).map((family) =>
    icmpVerdict(
      family,
      obstacle,
      icmp.filter((each) => each.family === family),
      range,
    ),
  );
  const fallback = netPingVerdict(netPing, obstacle === null);
  return [...families, fallback, bindVerdict("UDP", bound.UDP), bindVerdict("TCP", bound.TCP)];
}

/** Not needed if kernel sockets work. */
function netPingVerdict(netPing: string | null, hasKernelSockets: boolean): Verdict {
  return verdict(netPing === null, hasKernelSockets ? "info" : "warning", {
    check: "net-ping",
    looked: "loading net-ping, which sends echoes where the kernel's own sockets can't",
    value: netPing ?? "installed and built",
    rule: "probe.icmpProber=net_ping needs its native part, which no install builds",
    remedy:
      "Only where it is wanted: run `npm run build:net-ping` (needs a C++ compiler, make and Python), or build the image with `--build-arg NET_PING=yes`.",
  });
}

function icmpVerdict(
  family: 4 | 6,
  obstacle: string | null,
  openings: readonly IcmpOpening[],
  range: string,
): Verdict {
  const parts = {
    check: `ICMPv${family}`,
    looked: `opening datagram and raw ICMPv${family} sockets`,
    rule: "datagram ICMP is allowed, so that a probe needs no right",
    remedy:
      "Allow it: `sysctl -w net.ipv4.ping_group_range='0 2147483647'` (also for IPv6; in a pod the safe sysctl of securityContext.sysctls), or give the probe CAP_NET_RAW.",
  };
  if (obstacle !== null) return skipped({ ...parts, why: obstacle });
  const refusalOf = (mode: IcmpOpening["mode"]): string | null =>
    openings.find((each) => each.mode === mode)?.refusal ?? null;
  const [datagram, raw] = [refusalOf("datagram"), refusalOf("raw")];
  const words = (refusal: string | null): string => (refusal === null ? "allowed" : `refused (${refusal})`);
  const value = `datagram ${words(datagram)}, raw ${words(raw)}${range}`;
  if (family === 6 && datagram?.includes("EAFNOSUPPORT") === true)
    return { ...parts, severity: "info", value: "this kernel has no IPv6", remedy: null };
  return verdict(datagram === null, raw === null ? "info" : family === 4 ? "error" : "warning", {
    ...parts,
    value,
  });
}

function bindVerdict(protocol: "UDP" | "TCP", refusal: string | null): Verdict {
  return verdict(refusal === null, "error", {
    check: `${protocol} bind`,
    looked: `binding a ${protocol} port of 127.0.0.1`,
    value: refusal ?? "bound",
    rule: "a program may bind ports",
    remedy: "Bring loopback up with `ip link set lo up`, and look for a seccomp profile that forbids bind().",
  });
}
