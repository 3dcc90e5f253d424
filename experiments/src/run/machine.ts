import { availableParallelism, cpus, release, totalmem, type } from "node:os";

/** What a reader must know of the machine; not its name. */
export function describeMachine(): Readonly<Record<string, string | number>> {
  return {
    processor: cpus()[0]?.model.trim() || "unknown",
    cores: availableParallelism(),
    "memory, GiB": Math.round(totalmem() / 2 ** 30),
    kernel: `${type()} ${release()}`,
    "Node.js": process.version,
  };
}
