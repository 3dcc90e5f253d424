import { spawnSync } from "node:child_process";

/** Cores as taskset lists them. */
interface SplitCores {
  /** The last one: of the process that is measured. */
  readonly measured: string;
  /** The ones before it: of everything else. */
  readonly others: string;
}

/** The cores that this process may use, in two parts; null when there is one core, or no taskset. */
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

/** Confines this process and what it will start. */
export function confineTo(cores: string): void {
  const { status } = spawnSync("taskset", ["-acp", cores, String(process.pid)]);
  if (status !== 0) throw new Error(`taskset must confine this process to ${cores}, ended with ${status}`);
}
