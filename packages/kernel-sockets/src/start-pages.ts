import { readFileSync } from "node:fs";
import type { Libc } from "./libc.ts";
import { SYS } from "./sys.ts";

/** First line of a mapping in /proc/PID/smaps: private, not writable, of a file. */
const CLEAN_FILE = /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p \S+ \S+ \S+ +\//;
/** The same of any mapping. */
const HEAD = /^[0-9a-f]+-[0-9a-f]+ /;

interface Mapping {
  readonly address: number;
  readonly bytes: number;
  residentBytes: number;
  anonymousBytes: number;
}

/**
 * Takes pages of code and constants out of this process: those that are used come back from the file cache at
 * the first touch, in microseconds. The others, which only the start needed, are the first that the kernel
 * takes when memory is short (MADV_COLD), and count no longer as resident. Mappings with pages of their own
 * stay as they are. Returns the bytes of the mappings for which the kernel did it.
 */
export function dropStartPages(libc: Pick<Libc, "adviseMemory">, smaps: string = ownSmaps()): number {
  let dropped = 0;
  for (const { address, bytes, residentBytes, anonymousBytes } of cleanFilesIn(smaps)) {
    if (residentBytes === 0 || anonymousBytes > 0) continue;
    // First: a page that looks used when it leaves counts as in use. Kernels before 5.4 don't know it.
    libc.adviseMemory(address, bytes, SYS.MADV_COLD);
    if (libc.adviseMemory(address, bytes, SYS.MADV_DONTNEED) === 0) dropped += residentBytes;
  }
  return dropped;
}

/** Empty where there is no such file. */
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

/** Of a line such as `Rss:     12 kB`. */
function bytesOf(line: string): number {
  return Number.parseInt(line.slice(line.indexOf(":") + 1), 10) * 1024;
}
