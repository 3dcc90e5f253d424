import { inspectHostSockets } from "@isochrone/probe";
import type { HostSockets } from "@isochrone/probe";
import { systemClock } from "@isochrone/runtime/basics";
import { readFile } from "node:fs/promises";
import { release } from "node:os";
import { ok, skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";

const LEAST_NODE = 24;
const LEAST_KERNEL = [4, 13] as const;
const LEAST_FILES = 1_024;
const NET_RAW_BIT = 13n;
/** Clock sources readable without a system call. Others cost microseconds per read. */
const FAST_CLOCKS = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen"];

export function judgeNode(version: string): Verdict[] {
  const major = Number(version.replace(/^v/, "").split(".")[0]);
  return [
    verdict(major >= LEAST_NODE, "error", {
      check: "version",
      looked: "process.version",
      value: version,
      rule: `at least ${LEAST_NODE}, which runs TypeScript as it is`,
      remedy: "Run `npm install` with its optional packages, which bring Node 24, or install Node 24.",
    }),
  ];
}

interface KernelFacts {
  readonly platform: string;
  readonly release: string;
  /** From /sys; null if unknown. */
  readonly clockSource: string | null;
  readonly sockets: HostSockets;
}

export async function lookAtKernel(): Promise<KernelFacts> {
  const file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
  return {
    platform: process.platform,
    release: release(),
    clockSource: await textOf(file),
    sockets: await inspectHostSockets((ms) => systemClock.sleep(ms)),
  };
}

export function judgeKernel({ platform, release, clockSource, sockets }: KernelFacts): Verdict[] {
  if (platform !== "linux")
    return [
      skipped({
        check: "version",
        looked: "os.release()",
        why: `${platform} ${release}: the kernel's stamps are Linux's`,
        remedy: "Measure on Linux nodes; here probes use user-space timestamps, which is enough for a try.",
      }),
    ];
  return [versionVerdict(release), stampsVerdict(sockets), clockVerdict(clockSource)];
}

function versionVerdict(text: string): Verdict {
  const [major = 0, minor = 0] = text.split(".").map((part) => Number.parseInt(part, 10));
  const [leastMajor, leastMinor] = LEAST_KERNEL;
  return verdict(major > leastMajor || (major === leastMajor && minor >= leastMinor), "warning", {
    check: "version",
    looked: "os.release()",
    value: text,
    rule: `Linux ${leastMajor}.${leastMinor} or later, whose sockets stamp sends without a copy of the packet`,
    remedy: "Upgrade the node's kernel; until then probes use user-space timestamps.",
  });
}

function stampsVerdict({ obstacle, stamps, stampsObstacle }: HostSockets): Verdict {
  const parts = {
    check: "timestamps",
    looked: "SO_TIMESTAMPING on a UDP socket, one datagram over 127.0.0.1",
    rule: "the kernel stamps sends and receives",
    remedy:
      "See docs/runbooks/IsochroneUserSpaceTimestamps.md: run on x64 or arm64 Linux without a sandbox such as gVisor, or live with user-space times.",
  };
  if (stamps === null)
    return skipped({ ...parts, why: obstacle ?? stampsObstacle ?? "no datagram could be sent" });
  const [sends, receives] = [stamps.sends, stamps.receives].map((has) => (has ? "stamped" : "not stamped"));
  return verdict(stamps.sends && stamps.receives, "warning", {
    ...parts,
    value: `sends ${sends}, receives ${receives}`,
  });
}

function clockVerdict(source: string | null): Verdict {
  const parts = {
    check: "clock source",
    looked: "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    rule: `one that is read without a system call (${FAST_CLOCKS.join(", ")})`,
    remedy: "Boot the node with `clocksource=tsc`, or choose a machine type whose TSC is stable.",
  };
  if (source === null) return skipped({ ...parts, why: "the file can't be read" });
  return verdict(FAST_CLOCKS.includes(source), "warning", { ...parts, value: source });
}

interface PermissionFacts {
  readonly platform: string;
  readonly userId: number | null;
  /** CapEff bits; null without /proc. */
  readonly capabilities: bigint | null;
  readonly maxOpenFiles: number | null;
  /** The cgroup's "max", or quota and period in microseconds; null: unknown. */
  readonly cpuMax: string | null;
}

export async function lookAtPermissions(): Promise<PermissionFacts> {
  const status = await textOf("/proc/self/status");
  const limits = await textOf("/proc/self/limits");
  const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(status ?? "")?.[1];
  const files = /^Max open files\s+(\d+|unlimited)/m.exec(limits ?? "")?.[1];
  return {
    platform: process.platform,
    userId: process.geteuid?.() ?? null,
    capabilities: capabilities === undefined ? null : BigInt(`0x${capabilities}`),
    maxOpenFiles:
      files === undefined ? null : files === "unlimited" ? Number.POSITIVE_INFINITY : Number(files),
    cpuMax: await textOf("/sys/fs/cgroup/cpu.max"),
  };
}

export function judgePermissions({ userId, capabilities, maxOpenFiles, cpuMax }: PermissionFacts): Verdict[] {
  return [rawVerdict(userId, capabilities), filesVerdict(maxOpenFiles), cpuVerdict(cpuMax)];
}

function rawVerdict(userId: number | null, capabilities: bigint | null): Verdict {
  const parts = {
    check: "capabilities",
    looked: "CapEff of /proc/self/status",
    rule: "none is needed where datagram ICMP is allowed",
  };
  if (capabilities === null)
    return skipped({ ...parts, why: "/proc/self/status has no value", remedy: null });
  const raw = (capabilities >> NET_RAW_BIT) & 1n;
  return ok({ ...parts, value: `user ${userId ?? "?"}, CAP_NET_RAW ${raw === 1n ? "held" : "not held"}` });
}

function filesVerdict(most: number | null): Verdict {
  const parts = {
    check: "open files",
    looked: "Max open files of /proc/self/limits",
    rule: `at least ${LEAST_FILES}: each peer and each reader of events takes one`,
    remedy: `Raise it with \`ulimit -n ${LEAST_FILES * 64}\` or LimitNOFILE of the service.`,
  };
  if (most === null) return skipped({ ...parts, why: "/proc/self/limits doesn't tell" });
  return verdict(most >= LEAST_FILES, "warning", { ...parts, value: String(most) });
}

function cpuVerdict(cpuMax: string | null): Verdict {
  const parts = {
    check: "CPU limit",
    looked: "/sys/fs/cgroup/cpu.max",
    rule: "none for a probe: throttling shows as latency",
    remedy: "Remove resources.limits.cpu from probes (the chart sets none).",
  };
  if (cpuMax === null)
    return skipped({ ...parts, why: "there is no such file: no cgroup v2, or the root of it" });
  return verdict(cpuMax.startsWith("max"), "info", { ...parts, value: cpuMax });
}

async function textOf(file: string): Promise<string | null> {
  return (await readFile(file, "utf8").catch(() => null))?.trim() ?? null;
}
