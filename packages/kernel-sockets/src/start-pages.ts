import { readFileSync } from "node:fs";
import type { Libc } from "./libc.ts";
import { SYS } from "./sys.ts";

/** Header of a private, read-only file mapping in /proc/PID/smaps. */
const CLEAN_FILE = /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p \S+ \S+ \S+ +\//;
const HEAD = /^[0-9a-f]+-[0-9a-f]+ /;

interface Mapping {
  readonly address: number;
  readonly bytes: number;
  residentBytes: number;
  anonymousBytes: number;
}

/**
 * Drops clean pages of code and constants: used ones return from the file cache within microseconds; others
 * no longer count as resident and are reclaimed first (MADV_COLD). Skips mappings with private pages. Returns
 * the size of the affected mappings.
 */
export function dropStartPages(libc: Pick<Libc, "adviseMemory">, smaps: string = ownSmaps()): number {
  let dropped = 0;
  for (const { address, bytes, residentBytes, anonymousBytes } of cleanFilesIn(smaps)) {
    if (residentBytes === 0 || anonymousBytes > 0) continue;
    // First, since a page that looks used when it leaves counts as in use. Kernels before 5.4 do not support
    // it.
    libc.adviseMemory(address, bytes, SYS.MADV_COLD);
    if (libc.adviseMemory(address, bytes, SYS.MADV_DONTNEED) === 0) dropped += residentBytes;
  }
  return dropped;
}

function ownSmaps(): string {
  try {
    return readFileSync("/proc/self/smaps", "utf8");
  } catch {
    return "";
  }
}

function cleanFilesIn(smaps: string): Mapping[] {
  const mappings: Mapping[] = [];
  let current: Mapping | null = null;
  for (const line of smaps.split("\n")) {
    const [, from, to] = CLEAN_FILE.exec(line) ?? [];
    if (from !== undefined && to !== undefined) {
      const address = Number.parseInt(from, 16);
      const bytes = Number.parseInt(to, 16) - address;
      current = { address, bytes, residentBytes: 0, anonymousBytes: 0 };
      mappings.push(current);
    } else if (HEAD.test(line)) current = null;
    else if (current !== null && line.startsWith("Rss:")) current.residentBytes = bytesOf(line);
    else if (current !== null && line.startsWith("Anonymous:")) current.anonymousBytes = bytesOf(line);
  }
  return mappings;
}

function bytesOf(line: string): number {
  return Number.parseInt(line.slice(line.indexOf(":") + 1), 10) * 1024;
}
