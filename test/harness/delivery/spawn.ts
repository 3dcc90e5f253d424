import type { ChildProcess, SpawnOptions } from "node:child_process";

/** Starts a program, on this machine or on a node of a lab, as `child_process.spawn` does. */
export type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess;
