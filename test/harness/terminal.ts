// Runs `isochrone up` in a pseudo-terminal from util-linux's `script` and reads the screen.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const command = join(import.meta.dirname, "../../cli/bin/isochrone.mjs");
const SIZE = "stty rows 60 cols 160";
const HOME = "\u001b[H";
// eslint-disable-next-line no-control-regex
const ORDERS = /\u001b\[[0-9;]*[A-Za-z]/g;
const POLL_MS = 500;

export const hasTerminal: boolean = spawnSync("script", ["--version"]).status === 0;

export class TerminalSession {
  readonly #child: ChildProcess;
  #text = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout!.on("data", (chunk: Buffer) => (this.#text += chunk.toString()));
  }

  static up(...args: readonly string[]): TerminalSession {
    const line = [process.execPath, command, "up", "--port", "0", ...args]
      .map((word) => `'${word}'`)
      .join(" ");
    const child = spawn("script", ["-qefc", `${SIZE}; exec ${line}`, "/dev/null"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    return new TerminalSession(child);
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null;
  }

  /** The current lines on the screen. */
  get screen(): string {
    const last = this.#text.slice(this.#text.lastIndexOf(HOME));
    return last.replaceAll(ORDERS, "").replaceAll("\r", "");
  }

  /** The screen with wrapped sentences joined. */
  get said(): string {
    return this.screen.replaceAll(/\n {4}(?=\S)/g, " ");
  }

  /** All drawings of the screen, and any output between two drawings. */
  get drawings(): readonly string[] {
    return this.#text.split(HOME).slice(1);
  }

  /** Resolves with the first match on the screen. Rejects if the program ends first or after `patienceMs`. */
  async shows(what: RegExp, patienceMs: number): Promise<RegExpExecArray> {
    const polls = Math.ceil(patienceMs / POLL_MS);
    for (let poll = 0; poll < polls; poll++) {
      const match = what.exec(this.said);
      if (match !== null) return match;
      if (this.#child.exitCode !== null) break;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`the screen must show ${what} and shows:\n${this.screen}`);
  }

  /** Types Ctrl-C. Resolves with the exit code. */
  async interrupt(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const ended = once(this.#child, "exit");
    this.#child.stdin!.write("\u0003");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 90_000);
    await ended;
    clearTimeout(timer);
    return this.#child.exitCode;
  }
}
