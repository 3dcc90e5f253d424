import type { ChildProcess, SpawnOptions } from "node:child_process";

/** Starts a program locally or on a lab node, like `child_process.spawn`. */
export type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess;
