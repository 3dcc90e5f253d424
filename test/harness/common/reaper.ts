// A process of its own that outlives a test process, however that ends: when its standard input closes it
// kills what was started for the folder (its first argument), by the mark in their environment, and removes
// the folder.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const mark = process.argv[2]!;
const folder = process.argv[3]!;
const ROUND_MS = 20;

process.stdin.resume();
process.stdin.on("error", () => void reap());
process.stdin.on("end", () => void reap());

const killed = new Set<string>();
let reaping = false;

async function reap(): Promise<void> {
  if (reaping) return;
  reaping = true;
  // Again until none is left: one may be starting another just now, and a large one takes its time to end.
  for (let found = killMarked(); found > 0 || [...killed].some(isEnding); found = killMarked())
    await sleep(ROUND_MS);
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  process.exit(0);
}

function killMarked(): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isMarked(name));
  for (const pid of pids) {
    killed.add(pid);
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It ended meanwhile.
    }
  }
  return pids.length;
}

function isMarked(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`${mark}=${folder}`);
  } catch {
    return false;
  }
}

/** Its environment is gone, its sockets may not be. A zombie has ended: nobody waits for its parent. */
function isEnding(pid: string): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
