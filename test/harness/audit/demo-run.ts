// Runs `isochrone up` without a terminal: one timestamped line for each event.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { DemoAddresses } from "./demo-truth.ts";

const command = join(import.meta.dirname, "../../../cli/bin/isochrone.mjs");
const POLL_MS = 250;
const STOP_WITHIN_MS = 90_000;

export interface SaidLine {
  readonly atMs: number;
  readonly text: string;
}

export class DemoRun {
  readonly lines: SaidLine[] = [];
  readonly #child: ChildProcess;
  #stderr = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    createInterface({ input: child.stdout! }).on("line", (text) => {
      this.lines.push({ atMs: Date.now(), text });
    });
    child.stderr!.on(
      "data",
      (chunk: Buffer) => (this.#stderr = (this.#stderr + chunk.toString()).slice(-8_000)),
    );
  }

  static up(...args: readonly string[]): DemoRun {
    const child = spawn(process.execPath, [command, "up", ...args], { stdio: ["ignore", "pipe", "pipe"] });
    return new DemoRun(child);
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves with the first matching line. Rejects if the program ends or after `patienceMs`. */
  async says(what: RegExp, patienceMs: number, signal?: AbortSignal): Promise<RegExpExecArray> {
    const untilMs = Date.now() + patienceMs;
    for (;;) {
      for (const { text } of this.lines) {
        const match = what.exec(text);
        if (match !== null) return match;
      }
      signal?.throwIfAborted();
      if (!this.isRunning || Date.now() > untilMs)
        throw new Error(
          `isochrone up must say ${what} and said:\n${this.lines.map(({ text }) => text).join("\n")}\n${this.#stderr}`,
        );
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async addresses(patienceMs: number, signal?: AbortSignal): Promise<DemoAddresses> {
    const of = async (line: RegExp): Promise<string> => (await this.says(line, patienceMs, signal))[1]!;
    return {
      page: await of(/^ {2}page and graph API +(\S+)$/),
      extender: await of(/^ {2}extender +(\S+)$/),
      emulator: new URL(await of(/^ {2}emulator's controls +(\S+)$/)).origin,
    };
  }

  /** Stops the process with SIGINT, like Ctrl-C. */
  async stop(): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGINT");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), STOP_WITHIN_MS);
    await ended;
    clearTimeout(timer);
  }
}
