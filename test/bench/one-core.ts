import { spawnSync } from "node:child_process";

/** Pins process and garbage collector to the last allowed core. Returns a suffix for the result's name. */
export function pinToOneCore(): string {
  const pid = String(process.pid);
  const allowed = spawnSync("taskset", ["-cp", pid], { encoding: "utf8" });
  const core = /(\d+)\s*$/.exec(allowed.stdout ?? "")?.[1];
  if (allowed.status !== 0 || core === undefined) return "not pinned";
  const pinned = spawnSync("taskset", ["-acp", core, pid], { encoding: "utf8" });
  return pinned.status === 0 ? "pinned to one core" : "not pinned";
}
