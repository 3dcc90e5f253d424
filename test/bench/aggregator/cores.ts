import { spawnSync } from "node:child_process";

/** Cores in taskset format. */
interface SplitCores {
  /** The last core, for the measured process. */
  readonly measured: string;
  /** The other cores, for everything else. */
  readonly others: string;
}

/** Splits the cores of this process. Returns null with a single core or without taskset. */
export function splitCores(): SplitCores | null {
  const { status, stdout } = spawnSync("taskset", ["-cp", String(process.pid)], { encoding: "utf8" });
  const list = status === 0 ? /([\d,-]+)\s*$/.exec(stdout)?.[1] : undefined;
  const cores = (list ?? "").split(",").flatMap((range) => {
    const [first, last = first] = range.split("-").map(Number);
    return Array.from({ length: last! - first! + 1 }, (_, i) => first! + i);
  });
  if (cores.length < 2) return null;
  return { measured: String(cores.at(-1)), others: cores.slice(0, -1).join(",") };
}

export function confineTo(cores: string): void {
  const { status } = spawnSync("taskset", ["-acp", cores, String(process.pid)]);
  if (status !== 0) throw new Error(`taskset must confine this process to ${cores}, ended with ${status}`);
}
