import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** As `child_process.spawn`. The process it makes must be the program itself, not a parent of it. */
type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess;

interface ProgramCommand {
  /** For errors. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Where both of its streams are appended. */
  readonly logPath: string;
  /** Whether it serves; `log` is what it has logged since this start. */
  readonly isReady: (log: () => string) => boolean | Promise<boolean>;
  readonly startWithinMs: number;
  /** @default child_process.spawn */
  readonly spawn?: Spawn;
}

const STOP_WITHIN_MS = 30_000;
const POLL_MS = 25;
const TAIL_LINES = 20;

/** It ended, or its time was up, before it was ready. */
export class StartError extends Error {
  /** Somebody else listens on one of its ports. */
  readonly portTaken: boolean;

  constructor(name: string, why: string, log: string) {
    super(`${name} ${why}:\n${log.trim().split("\n").slice(-TAIL_LINES).join("\n")}`);
    this.portTaken = /address already in use/i.test(log);
  }
}

/** A program that tests start, stop, kill and let hang. */
export class RestartableProcess {
  readonly #program: ProgramCommand;
  #process: ChildProcess | null = null;
  /** Unix times; one that isn't ready yet has no end. */
  readonly #starts: { readonly beganMs: number; readyMs: number }[] = [];

  constructor(program: ProgramCommand) {
    this.#program = program;
  }

  /** Null when it doesn't run. */
  get pid(): number | null {
    return this.#running()?.pid ?? null;
  }

  /** Whether it had been started then and wasn't ready yet. @param atMs Unix time */
  wasStarting(atMs: number): boolean {
    return this.#starts.some(({ beganMs, readyMs }) => beganMs <= atMs && atMs <= readyMs);
  }

  /** What it has logged over all its starts. */
  get log(): string {
    return existsSync(this.#program.logPath) ? readFileSync(this.#program.logPath, "utf8") : "";
  }

  /** Resolves when it is ready. @throws StartError */
  async start(): Promise<void> {
    const { command, args, cwd, environment, logPath } = this.#program;
    const before = existsSync(logPath) ? statSync(logPath).size : 0;
    const output = openSync(logPath, "a");
    const start = { beganMs: Date.now(), readyMs: Infinity };
    this.#starts.push(start);
    const child = (this.#program.spawn ?? spawn)(command, args, {
      cwd,
      env: environment,
      // A Ctrl-C is for the test; what becomes of its programs is the harness's.
      detached: true,
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    child.unref();
    let failure = "ended while it started";
    child.on("error", (error) => (failure = `could not be started: ${error.message}`));
    this.#process = child;
    await this.#untilReady(before, () => failure);
    start.readyMs = Date.now();
  }

  async #untilReady(before: number, failure: () => string): Promise<void> {
    const { name, logPath, isReady, startWithinMs } = this.#program;
    const deadline = performance.now() + startWithinMs;
    const said = (): string => readFileSync(logPath).subarray(before).toString();
    while (!(await isReady(said))) {
      if (this.#running() === null) throw new StartError(name, failure(), said());
      if (performance.now() > deadline)
        throw new StartError(name, `isn't ready after ${startWithinMs} ms`, said());
      await sleep(POLL_MS);
    }
  }

  /** As a pull of the plug. Resolves when it is gone. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL", STOP_WITHIN_MS);
  }

  /** In order; one that can't end in time is killed. */
  async stop(withinMs = STOP_WITHIN_MS): Promise<void> {
    this.resume();
    if (!(await this.#end("SIGTERM", withinMs))) await this.kill();
  }

  /** As a machine that hangs: its connections stay, nothing answers. Resolves when it stands still. */
  async pause(): Promise<void> {
    const child = this.#running();
    if (child === null) return;
    child.kill("SIGSTOP");
    // The signal is delivered when one of its threads gets the processor.
    while (child.exitCode === null && !(await isStopped(child.pid!))) await sleep(POLL_MS);
  }

  resume(): void {
    this.#running()?.kill("SIGCONT");
  }

  /** Whether it ended in time. */
  async #end(signal: NodeJS.Signals, deadlineMs: number): Promise<boolean> {
    const child = this.#running();
    if (child === null) return true;
    child.ref();
    const ended = once(child, "exit").then(() => true);
    child.kill(signal);
    return Promise.race([ended, sleep(deadlineMs, false, { ref: false })]);
  }

  #running(): ChildProcess | null {
    const child = this.#process;
    if (child === null || child.pid === undefined) return null;
    return child.exitCode === null && child.signalCode === null ? child : null;
  }
}

/** Whether all its threads were stopped by a signal. */
async function isStopped(pid: number): Promise<boolean> {
  const tasks = `/proc/${pid}/task`;
  const states = (await readdir(tasks)).map((task) => readFile(`${tasks}/${task}/stat`, "utf8"));
  // The state follows the name, which may contain anything.
  return (await Promise.all(states)).every((stat) => stat.slice(stat.lastIndexOf(")")).startsWith(") T"));
}
