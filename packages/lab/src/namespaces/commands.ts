import { execFile } from "node:child_process";
import { NamespaceError } from "./errors.ts";

const COMMAND_DEADLINE_MS = 10_000;

/**
 * Runs a command to its end; returns what it printed.
 * @param input what it reads from standard input @default ""
 * @throws NamespaceError `command_failed` with the command's own complaint, also when it takes longer than 10
 * s
 */
export function run(command: string, args: readonly string[], input = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { timeout: COMMAND_DEADLINE_MS }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else {
        const complaint = error.code === "ENOENT" ? "no such command" : stderr.trim() || error.message;
        const message = `${command} ${args.join(" ")}: ${complaint}`;
        reject(new NamespaceError("command_failed", message, { cause: error }));
      }
    });
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input);
  });
}

/** Many commands of ip(8) in one process, inside a namespace. */
export function ipBatch(namespace: string, lines: readonly string[]): Promise<string> {
  return run("ip", ["-n", namespace, "-batch", "-"], `${lines.join("\n")}\n`);
}
