import type { ChildProcess, SpawnOptions } from "node:child_process";

export type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess;
