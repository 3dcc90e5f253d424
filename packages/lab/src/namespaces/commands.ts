import { execFile } from "node:child_process";
import { NamespaceError } from "./errors.ts";

const COMMAND_DEADLINE_MS = 10_000;

/**
 * Runs a command and returns its output.
 * @param input standard input @default ""
 * @throws NamespaceError `command_failed` with the command's error output, also after 10 s
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

export function ipBatch(namespace: string, lines: readonly string[]): Promise<string> {
  return run("ip", ["-n", namespace, "-batch", "-"], `${lines.join("\n")}\n`);
}
