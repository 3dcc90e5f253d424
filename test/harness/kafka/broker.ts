import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { join } from "node:path";
import { RestartableProcess } from "../common/restartable-process.ts";

/** Like `child_process.spawn`, for one broker. The process must be the program itself, not its parent. */
export type SpawnBroker = (
  nodeId: number,
  command: string,
  args: readonly string[],
  options: SpawnOptions,
) => ChildProcess;

export const spawnHere: SpawnBroker = (_nodeId, command, args, options) => spawn(command, args, options);

interface BrokerCommand {
  readonly nodeId: number;
  readonly folder: string;
  readonly javaArguments: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly spawn: SpawnBroker;
}

const START_WITHIN_MS = 90_000;
const STARTED = "Kafka Server started";

/** Ready when the controller has admitted it. Hands over its partitions when stopped. */
export function makeBroker({
  nodeId,
  folder,
  javaArguments,
  environment,
  spawn,
}: BrokerCommand): RestartableProcess {
  return new RestartableProcess({
    name: `broker ${nodeId}`,
    command: "java",
    args: javaArguments,
    cwd: folder,
    environment,
    logPath: join(folder, "server.log"),
    isReady: (log) => log().includes(STARTED),
    startWithinMs: START_WITHIN_MS,
    spawn: (command, args, options) => spawn(nodeId, command, args, options),
  });
}
