import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Small heaps, because many stand-in programs run at once. */
const NODE_FLAGS = ["--max-old-space-size=96", "--max-semi-space-size=2", "--no-warnings"];

/**
 * Starts a TypeScript file as a process with an IPC channel, named for process lists.
 * @param commandOn prefix of the command line; must exec the program, not fork it
 */
export function startChild(entry: URL, name: string, commandOn: readonly string[] = []): ChildProcess {
  const [command = process.execPath, ...execArgv] = [...commandOn, process.execPath, ...NODE_FLAGS];
  return fork(fileURLToPath(entry), [name], {
    execPath: command,
    execArgv,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}

/** A message to a process that has just ended is lost; its exit is reported anyway. */
export function sendTo(child: ChildProcess, message: object): void {
  if (child.connected) child.send(message, () => {});
}

export async function endChild(child: ChildProcess, waited: Promise<unknown>): Promise<void> {
  await waited;
  if (hasEnded(child)) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
