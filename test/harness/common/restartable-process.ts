import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Like `child_process.spawn`. The process must be the program itself, not its parent. */
type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess;

interface ProgramCommand {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly logPath: string;
  readonly isReady: (log: () => string) => boolean | Promise<boolean>;
  readonly startWithinMs: number;
  readonly spawn?: Spawn;
}

const STOP_WITHIN_MS = 30_000;
const POLL_MS = 25;
const TAIL_LINES = 20;

export class StartError extends Error {
  readonly portTaken: boolean;

  constructor(name: string, why: string, log: string) {
    super(`${name} ${why}:\n${log.trim().split("\n").slice(-TAIL_LINES).join("\n")}`);
    this.portTaken = /address already in use/i.test(log);
  }
}

export class RestartableProcess {
  readonly #program: ProgramCommand;
  #process: ChildProcess | null = null;
  /** Unix times. A start that is not ready has no `readyMs`. */
  readonly #starts: { readonly beganMs: number; readyMs: number }[] = [];

  constructor(program: ProgramCommand) {
    this.#program = program;
  }

  /** Returns null if the program does not run. */
  get pid(): number | null {
    return this.#running()?.pid ?? null;
  }

  wasStarting(atMs: number): boolean {
    return this.#starts.some(({ beganMs, readyMs }) => beganMs <= atMs && atMs <= readyMs);
  }

  get log(): string {
    return existsSync(this.#program.logPath) ? readFileSync(this.#program.logPath, "utf8") : "";
  }

  /** Resolves when the program is ready. @throws StartError */
  async start(): Promise<void> {
    const { command, args, cwd, environment, logPath } = this.#program;
    const before = existsSync(logPath) ? statSync(logPath).size : 0;
    const output = openSync(logPath, "a");
    const start = { beganMs: Date.now(), readyMs: Infinity };
    this.#starts.push(start);
    const child = (this.#program.spawn ?? spawn)(command, args, {
      cwd,
      env: environment,
      // A terminal's Ctrl-C goes to the test. The harness stops its programs.
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

  async kill(): Promise<void> {
    await this.#end("SIGKILL", STOP_WITHIN_MS);
  }

  /** Stops with SIGTERM. Kills a program that does not end in time. */
  async stop(withinMs = STOP_WITHIN_MS): Promise<void> {
    this.resume();
    if (!(await this.#end("SIGTERM", withinMs))) await this.kill();
  }

  /** Pauses the process: connections stay but nothing answers. Resolves when it has stopped. */
  async pause(): Promise<void> {
    const child = this.#running();
    if (child === null) return;
    child.kill("SIGSTOP");
    // The kernel delivers the signal when a thread is scheduled.
    while (child.exitCode === null && !(await isStopped(child.pid!))) await sleep(POLL_MS);
  }

  resume(): void {
    this.#running()?.kill("SIGCONT");
  }

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

async function isStopped(pid: number): Promise<boolean> {
  const tasks = `/proc/${pid}/task`;
  const states = (await readdir(tasks)).map((task) => readFile(`${tasks}/${task}/stat`, "utf8"));
  // The state follows the name, which may contain any character.
  return (await Promise.all(states)).every((stat) => stat.slice(stat.lastIndexOf(")")).startsWith(") T"));
}
