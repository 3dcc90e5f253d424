import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Small heaps: a stand-in program needs little, and there are many of them. */
const NODE_FLAGS = ["--max-old-space-size=96", "--max-semi-space-size=2", "--no-warnings"];

/**
 * Starts a TypeScript entry file as a process of its own with an IPC channel. The name makes it recognisable
 * in a process list.
 * @param commandOn what the command line begins with; such a command must become the program, not start it
 */
export function startChild(entry: URL, name: string, commandOn: readonly string[] = []): ChildProcess {
  const [command = process.execPath, ...execArgv] = [...commandOn, process.execPath, ...NODE_FLAGS];
  return fork(fileURLToPath(entry), [name], {
    execPath: command,
    execArgv,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}

/** Sends a message; one to a process that has just ended is lost, which its exit reports anyway. */
export function sendTo(child: ChildProcess, message: object): void {
  if (child.connected) child.send(message, () => {});
}

/** Kills a process that did not end by itself and resolves when it has gone. */
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
