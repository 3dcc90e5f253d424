import { spawn, type ChildProcess } from "node:child_process";

/** Each ends by itself after the run, even if this process is gone. */
const SPIN = "const end = Date.now() + Number(process.argv[1]); while (Date.now() < end);";

export class BusyProcesses {
  readonly #children: readonly ChildProcess[];

  constructor(count: number, lifeMs: number) {
    this.#children = Array.from({ length: count }, () =>
      spawn(process.execPath, ["-e", SPIN, String(lifeMs)], { stdio: "ignore" }),
    );
  }

  stop(): void {
    for (const child of this.#children) child.kill("SIGKILL");
  }
}
