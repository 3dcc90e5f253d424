import { readFileSync } from "node:fs";

/** What a CPU limit has cost this process' control group since it began. */
export interface Throttling {
  readonly periods: number;
  readonly seconds: number;
}

/** Version 2, then version 1 of control groups, as a container sees its own. */
const FILES = [
  "/sys/fs/cgroup/cpu.stat",
  "/sys/fs/cgroup/cpu/cpu.stat",
  "/sys/fs/cgroup/cpu,cpuacct/cpu.stat",
];

/** Null where the system doesn't tell: no Linux, no control group. */
export function readThrottling(files: readonly string[] = FILES): Throttling | null {
  for (const file of files) {
    try {
      const found = parseThrottling(readFileSync(file, "utf8"));
      if (found !== null) return found;
    } catch {
      // Not here: the next place may have it.
    }
  }
  return null;
}

/** Reads a cpu.stat; version 1 counts nanoseconds, version 2 microseconds. */
export function parseThrottling(text: string): Throttling | null {
  const values = new Map(text.split("\n").map((line) => line.split(" ") as [string, string | undefined]));
  const number = (key: string): number | null => {
    const value = values.get(key);
    return value === undefined || !/^\d+$/.test(value) ? null : Number(value);
  };
  const periods = number("nr_throttled");
  const micro = number("throttled_usec");
  const nano = number("throttled_time");
  if (periods === null || (micro === null && nano === null)) return null;
  return { periods, seconds: micro === null ? (nano ?? 0) / 1e9 : micro / 1e6 };
}
