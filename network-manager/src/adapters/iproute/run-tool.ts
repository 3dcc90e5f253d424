import { spawn } from "node:child_process";
import { codeOf } from "@isochrone/primitives";
import { KernelError } from "../../ports/errors.ts";

export interface ToolResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type RunTool = (tool: string, args: readonly string[], input?: string) => Promise<ToolResult>;

/** 5,000 classes with counters take 2 MB. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** Runs tools as child processes without a shell. @param prefix for example `ip netns exec NAME` */
export function toolRunner(prefix: readonly string[] = []): RunTool {
  return (tool, args, input = "") => {
    const [program = tool, ...rest] = [...prefix, tool, ...args];
    return new Promise((resolve, reject) => {
      const child = spawn(program, rest, {
        timeout: TIMEOUT_MS,
        killSignal: "SIGKILL",
        env: toolEnvironment(),
      });
      const [stdout, stderr] = [new Output(), new Output()];
      child.stdout.on("data", (chunk: Buffer) => stdout.add(chunk) || child.kill("SIGKILL"));
      child.stderr.on("data", (chunk: Buffer) => stderr.add(chunk) || child.kill("SIGKILL"));
      // A tool that exits before reading everything reports the reason itself.
      child.stdin.on("error", () => undefined);
      child.on("error", (error) => reject(startError(program, error)));
      child.on("close", (status) => resolve({ status, stdout: stdout.text, stderr: stderr.text }));
      child.stdin.end(input);
    });
  };
}

function toolEnvironment(): Record<string, string> {
  return { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
}

function startError(program: string, error: Error): KernelError {
  return codeOf(error) === "ENOENT"
    ? new KernelError("missing_tool", `${program} must be installed on the node, it isn't`, { cause: error })
    : new KernelError("tool_failed", `${program} can't be run: ${error.message}`, { cause: error });
}

class Output {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  add(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    return this.#bytes <= MAX_OUTPUT_BYTES;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}
