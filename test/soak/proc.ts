import { readFileSync } from "node:fs";

/** Totals of one process since its start. */
interface ProcessUse {
  readonly rssBytes: number;
  readonly cpuSeconds: number;
}

/** USER_HZ, the kernel's unit; the same on all of Node's platforms. */
const TICKS_PER_SECOND = 100;
/** Fields 14 and 15 of /proc/PID/stat, counted from field 3, which follows the name in brackets. */
const UTIME = 11;
const STIME = 12;

/** Returns null if the process is gone. */
export function processUse(pid: number): ProcessUse | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const rss = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    if (rss === null) return null;
    return {
      rssBytes: Number(rss[1]) * 1024,
      cpuSeconds: (Number(fields[UTIME]) + Number(fields[STIME])) / TICKS_PER_SECOND,
    };
  } catch {
    return null;
  }
}

/** Busy time of all cores since boot, including time stolen by the host. */
export function machineBusySeconds(): number {
  const [, ...ticks] = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]!.split(/\s+/);
  // user nice system idle iowait irq softirq steal; guest time is part of user
  const busy = ticks
    .slice(0, 8)
    .reduce((sum, tick, at) => (at === 3 || at === 4 ? sum : sum + Number(tick)), 0);
  return busy / TICKS_PER_SECOND;
}

export function processName(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").filter(Boolean).at(-1) ?? null;
  } catch {
    return null;
  }
}

/** Shares of a core used by process groups between two samples. */
export class CpuShares {
  readonly #before = new Map<number, number>();
  #beforeMs: number | null = null;

  /** Shares by group. Returns null for the first sample. New processes count with their total use. */
  look(groups: Readonly<Record<string, readonly number[]>>, nowMs: number): Record<string, number> | null {
    const seconds = this.#beforeMs === null ? null : (nowMs - this.#beforeMs) / 1000;
    this.#beforeMs = nowMs;
    const shares = Object.entries(groups).map(([group, pids]): [string, number] => {
      const used = pids.reduce((sum, pid) => sum + this.#usedSinceLook(pid), 0);
      return [group, used / (seconds ?? 1)];
    });
    return seconds === null ? null : Object.fromEntries(shares);
  }

  #usedSinceLook(pid: number): number {
    const use = processUse(pid);
    if (use === null) return 0;
    const before = this.#before.get(pid) ?? 0;
    this.#before.set(pid, use.cpuSeconds);
    return Math.max(0, use.cpuSeconds - before);
  }
}
