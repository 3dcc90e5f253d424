import { spawn, type ChildProcess } from "node:child_process";
import { parseFpingLine, type FpingLine } from "./output.ts";

/** A line of fping's is short; what is longer isn't one. */
const MAX_LINE = 4096;
const CHECK_TIMEOUT_MS = 500;
/** Ours may hold secrets, and what fping prints must not depend on anybody's language. */
const ENVIRONMENT = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
/** fping ends with this or more when it couldn't run at all; less is about the targets. */
const EXIT_UNUSABLE = 3;

export interface FpingOptions {
  readonly targets: readonly string[];
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** 0 to 63. */
  readonly dscp: number;
  readonly payloadBytes: number;
}

export interface FpingEvents {
  onLine(line: FpingLine): void;
  /** It ended without being told to. */
  onEnd(reason: string): void;
}

/** One fping that pings all targets, evenly spread over the interval, until it is stopped. */
export class FpingProcess {
  readonly #child: ChildProcess;
  readonly #events: FpingEvents;
  #rest = "";
  #complaint = "";
  #ended = false;

  constructor(options: FpingOptions, events: FpingEvents) {
    this.#events = events;
    // Both streams into one pipe: fping tells wrong sources on the error stream, within the lines of the
    // other.
    this.#child = spawn("sh", ["-c", 'exec "$0" "$@" 2>&1', "fping", ...fpingArguments(options)], {
      stdio: ["pipe", "pipe", "ignore"],
      env: ENVIRONMENT,
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (chunk: string) => this.#read(chunk));
    this.#child.on("error", (error) => this.#end(error.message));
    this.#child.on("exit", (code, signal) => {
      const said = this.#complaint === "" ? "" : `: ${this.#complaint}`;
      this.#end(`fping ended with ${signal ?? `code ${code}`}${said}`);
    });
    // It may die before it has read them; its end says so.
    this.#child.stdin?.on("error", () => {});
    this.#child.stdin?.end(`${options.targets.join("\n")}\n`);
  }

  stop(): void {
    this.#ended = true;
    this.#child.kill("SIGKILL");
  }

  #read(chunk: string): void {
    if (this.#ended) return;
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = (lines.pop() ?? "").slice(-MAX_LINE);
    for (const text of lines) {
      const line = parseFpingLine(text);
      if (line !== null) this.#events.onLine(line);
      else if (text.trim() !== "") this.#complaint = text.trim().slice(0, 200);
    }
  }

  #end(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.onEnd(reason);
  }
}

/** Loop mode with a timestamp per line. */
export function fpingArguments({
  targets,
  intervalMs,
  timeoutMs,
  dscp,
  payloadBytes,
}: FpingOptions): string[] {
  const spacingMs = intervalMs / (targets.length + 1);
  const numbers = { i: spacingMs.toFixed(3), p: intervalMs, t: timeoutMs, b: payloadBytes, O: dscp << 2 };
  return ["-l", "-D", ...Object.entries(numbers).flatMap(([name, value]) => [`-${name}`, String(value)])];
}

/** Which fping there is. Rejects with the reason where it can't ping at all. */
export async function checkFping(): Promise<string> {
  await run(["-C", "1", "-q", "-t", String(CHECK_TIMEOUT_MS), "127.0.0.1"]);
  const version = /Version (\S+)/.exec(await run(["-v"]))?.[1];
  return `fping ${version ?? "of unknown version"}`;
}

function run(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("fping", args, {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 10 * CHECK_TIMEOUT_MS,
      env: ENVIRONMENT,
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    }
    child.on("error", (error: NodeJS.ErrnoException) =>
      reject(new Error(error.code === "ENOENT" ? "fping is not installed" : error.message)),
    );
    child.on("close", (code, signal) => {
      if (signal === null && code !== null && code < EXIT_UNUSABLE) resolve(output);
      else reject(new Error(`fping ended with ${signal ?? `code ${code}`}: ${output.trim().slice(0, 200)}`));
    });
  });
}
