import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SYS, dropStartPages, isLibcSupported, loadLibc } from "./index.ts";

const SMAPS = `\
00400000-00800000 r--p 00000000 fe:01 7                                  /usr/local/bin/node
Rss:                2048 kB
Anonymous:             0 kB
00800000-00c00000 r-xp 00400000 fe:01 7                                  /usr/local/bin/node
Rss:                4096 kB
Anonymous:             0 kB
00c00000-00d00000 r--p 00800000 fe:01 7                                  /usr/local/bin/node
Rss:                1024 kB
Anonymous:             4 kB
00d00000-00e00000 rw-p 00900000 fe:01 7                                  /usr/local/bin/node
Rss:                1024 kB
Anonymous:             0 kB
00e00000-00f00000 r--s 00000000 fe:01 8                                  /usr/share/shared
Rss:                1024 kB
Anonymous:             0 kB
00f00000-01000000 r--p 00000000 fe:01 9                                  /usr/lib/untouched.so
Rss:                   0 kB
Anonymous:             0 kB
10000000-10100000 r--p 00000000 00:00 0 
Rss:                1024 kB
Anonymous:             0 kB
7ffc0000-7ffc1000 r-xp 00000000 00:00 0                                  [vdso]
Rss:                   4 kB
Anonymous:             0 kB
`;

describe("pages of the start", () => {
  test("only clean pages of files are dropped, and are said to be cold before", () => {
    const advised: string[] = [];
    const adviseMemory = (address: number, bytes: number, advice: number): number => {
      advised.push(`${address.toString(16)} ${bytes.toString(16)} ${advice}`);
      return 0;
    };
    expect(dropStartPages({ adviseMemory }, SMAPS)).toBe(6 << 20);
    expect(advised).toEqual([
      `400000 400000 ${SYS.MADV_COLD}`,
      `400000 400000 ${SYS.MADV_DONTNEED}`,
      `800000 400000 ${SYS.MADV_COLD}`,
      `800000 400000 ${SYS.MADV_DONTNEED}`,
    ]);
  });

  test("a kernel that refuses, and a system without /proc, drop nothing", () => {
    expect(dropStartPages({ adviseMemory: () => -1 }, SMAPS)).toBe(0);
    expect(dropStartPages({ adviseMemory: () => 0 }, "")).toBe(0);
  });

  test.skipIf(!isLibcSupported())("a process goes on without them, and is smaller", async () => {
    const libc = await loadLibc();
    const residentKiB = (): number => {
      const status = readFileSync("/proc/self/status", "utf8");
      return Number(/^RssFile:\s+(\d+) kB$/m.exec(status)![1]);
    };
    const before = residentKiB();
    const dropped = dropStartPages(libc) / 1024;
    const after = residentKiB();
    expect(dropped).toBeGreaterThan(before / 2);
    expect(after).toBeLessThan(before - dropped / 3);
    expect(JSON.parse('{"still":"here"}')).toEqual({ still: "here" });
  });
});
