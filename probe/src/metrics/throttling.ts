import { readFileSync } from "node:fs";

export interface Throttling {
  readonly periods: number;
  readonly seconds: number;
}

const FILES = [
  "/sys/fs/cgroup/cpu.stat",
  "/sys/fs/cgroup/cpu/cpu.stat",
  "/sys/fs/cgroup/cpu,cpuacct/cpu.stat",
];

/** Returns null without Linux or control groups. */
export function readThrottling(files: readonly string[] = FILES): Throttling | null {
  for (const file of files) {
    try {
      const found = parseThrottling(readFileSync(file, "utf8"));
      if (found !== null) return found;
    } catch {
      // Try the next path.
    }
  }
  return null;
}

/** Parses cpu.stat; version 1 counts nanoseconds, version 2 microseconds. */
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
