import type { KubernetesObject } from "@isochrone/kubernetes";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface FloodedTask {
  readonly nodes: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Memory limit of the chart's aggregator at size small. The container is killed beyond it. */
export const MAX_RSS_BYTES = 768 * 2 ** 20;
/** Nine sixteenths of the limit, and the chart's other flags. */
const FLAGS = ["--max-old-space-size=432"];
const MALLOC = {
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_THRESHOLD_: "65536",
  MALLOC_TRIM_THRESHOLD_: "131072",
};
const MAX_LOG_CHARACTERS = 20_000;

export class FloodedAggregator {
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #log: () => string;

  private constructor(child: ChildProcess, url: string, log: () => string) {
    this.#child = child;
    this.url = url;
    this.#log = log;
  }

  static async start(task: FloodedTask): Promise<FloodedAggregator> {
    const args = [...FLAGS, join(import.meta.dirname, "aggregator-process.ts"), JSON.stringify(task)];
    const child = spawn(process.execPath, args, { env: { ...process.env, ...MALLOC } });
    let log = "";
    child.stderr.on("data", (chunk: Buffer) => (log = (log + chunk.toString()).slice(-MAX_LOG_CHARACTERS)));
    child.stdin.on("error", () => undefined);
    const lines = createInterface({ input: child.stdout });
    const ended = once(child, "exit").then(() => {
      throw new Error(`the aggregator ended before it listened:\n${log}`);
    });
    const [url] = (await Promise.race([once(lines, "line"), ended])) as [string];
    ended.catch(() => undefined);
    return new FloodedAggregator(child, url, () => log);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get log(): string {
    return this.#log();
  }

  create(object: KubernetesObject): void {
    this.#child.stdin!.write(`${JSON.stringify(object)}\n`);
  }

  async stop(): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.#child, "exit");
    this.#child.stdin!.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 20_000);
    await ended;
    clearTimeout(timer);
  }
}
