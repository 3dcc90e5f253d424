import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const KIB = 1_024;
/** USER_HZ, the same on all Linux architectures that Node supports. */
const TICKS_PER_SECOND = 100;
const POLL_MS = 100;
const READY_DEADLINE_MS = 180_000;
const STOP_DEADLINE_MS = 20_000;

export class ServiceProcess {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #startedMs = performance.now();

  constructor(
    main: string,
    port: number,
    env: Readonly<Record<string, string>>,
    execArgv: readonly string[] = [],
  ) {
    this.url = `http://127.0.0.1:${port}`;
    const file = fileURLToPath(new URL(`../../../${main}`, import.meta.url));
    const { PATH = "" } = process.env;
    this.#child = spawn(process.execPath, [...execArgv, file], {
      env: { PATH, ISOCHRONE_SERVICE_LOG_LEVEL: "warn", ...env },
      stdio: ["ignore", "inherit", "inherit"],
    });
  }

  async ready(): Promise<number> {
    for (;;) {
      const elapsedMs = performance.now() - this.#startedMs;
      const answer = await fetch(`${this.url}/readyz`).catch(() => null);
      if (answer?.status === 200) return elapsedMs / 1_000;
      if (this.#child.exitCode !== null || elapsedMs > READY_DEADLINE_MS)
        throw new Error(`${this.#child.spawnfile} isn't ready: ${(await answer?.text()) ?? "no answer"}`);
      await sleep(POLL_MS);
    }
  }

  get cpuSeconds(): number {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, "latin1");
    // The command's name, in parentheses, may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }

  get residentBytes(): number {
    return this.#status("VmRSS");
  }

  get peakResidentBytes(): number {
    return this.#status("VmHWM");
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const killing = setTimeout(() => this.#child.kill("SIGKILL"), STOP_DEADLINE_MS);
    this.#child.kill("SIGTERM");
    await once(this.#child, "exit");
    clearTimeout(killing);
  }

  #status(name: string): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "latin1");
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)![1]) * KIB;
  }
}
