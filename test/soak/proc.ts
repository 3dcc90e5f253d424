// What the kernel says of processes. Linux only.
import { readFileSync } from "node:fs";

/** Of one process since it started. */
interface ProcessUse {
  readonly rssBytes: number;
  readonly cpuSeconds: number;
}

/** USER_HZ, in which the kernel counts; the same on all of Node's platforms. */
const TICKS_PER_SECOND = 100;
/** Fields 14 and 15 of /proc/PID/stat, counted from what follows the name in brackets (field 3). */
const UTIME = 11;
const STIME = 12;

/** Null once the process has gone. */
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

/**
 * Time that all cores together have spent on anything since the machine started, stolen by its host included.
 */
export function machineBusySeconds(): number {
  const [, ...ticks] = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]!.split(/\s+/);
  // user nice system idle iowait irq softirq steal; guest time is part of user
  const busy = ticks
    .slice(0, 8)
    .reduce((sum, tick, at) => (at === 3 || at === 4 ? sum : sum + Number(tick)), 0);
  return busy / TICKS_PER_SECOND;
}

/** The last word of the command line: stand-in programs are named by it. Null once the process has gone. */
export function processName(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").filter(Boolean).at(-1) ?? null;
  } catch {
    return null;
  }
}

/** Shares of a core that groups of processes used between two looks. */
export class CpuShares {
  readonly #before = new Map<number, number>();
  #beforeMs: number | null = null;

  /**
   * By group; null at the first look. Processes that are new since the look before count with all they used.
   */
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
