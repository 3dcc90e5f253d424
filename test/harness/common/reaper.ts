// Outlives a test process: when stdin closes, kills the folder's marked processes and removes it.
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
  // Repeat until none is left: a process may be starting another, and a large process takes time to end.
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
      // The process ended meanwhile.
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

/** An ending process has lost its environment but may keep sockets. A zombie counts as ended. */
function isEnding(pid: string): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
