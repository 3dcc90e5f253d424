import { spawnSync } from "node:child_process";

/**
 * Confines this process, with the threads of its garbage collector, to the last core that it may use: the
 * figure is then that of one core, and a scheduler that moves it about doesn't disturb it. Gives words for
 * the result's name.
 */
export function pinToOneCore(): string {
  const pid = String(process.pid);
  const allowed = spawnSync("taskset", ["-cp", pid], { encoding: "utf8" });
  const core = /(\d+)\s*$/.exec(allowed.stdout ?? "")?.[1];
  if (allowed.status !== 0 || core === undefined) return "not pinned";
  const pinned = spawnSync("taskset", ["-acp", core, pid], { encoding: "utf8" });
  return pinned.status === 0 ? "pinned to one core" : "not pinned";
}
