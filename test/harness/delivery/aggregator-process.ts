import { once } from "node:events";
import type { ChildProcess } from "node:child_process";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { Seat } from "./testbed.ts";
import { TUNED } from "../components/tuned.ts";

interface AggregatorTask {
  readonly name: string;
  readonly seat: Seat;
  readonly env: NodeJS.ProcessEnv;
  readonly logPath: string;
}

const SCRIPT = join(import.meta.dirname, "../../../aggregator/src/main.ts");
const REQUEST_TIMEOUT_MS = 20_000;
const POLL_MS = 100;

export class AggregatorProcess {
  readonly task: AggregatorTask;
  #child: ChildProcess | null = null;

  constructor(task: AggregatorTask) {
    this.task = task;
  }

  get running(): boolean {
    return this.#child !== null;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  start(): void {
    const { name, seat, env, logPath } = this.task;
    const child = seat.spawn(process.execPath, [...TUNED, SCRIPT], {
      env: {
        ...env,
        ISOCHRONE_ACCESS_MODE: "none",
        ISOCHRONE_AGGREGATOR_HOST: seat.host,
        ISOCHRONE_AGGREGATOR_PORT: String(seat.port),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const log = createWriteStream(logPath, { flags: "a" });
    log.write(`--- ${name} starts as process ${child.pid}\n`);
    child.stdout!.pipe(log, { end: false });
    child.stderr!.pipe(log, { end: false });
    child.on("exit", (code, signal) => {
      log.end(`--- ${name} ended with ${signal ?? code}\n`);
      if (this.#child === child) this.#child = null;
    });
    this.#child = child;
  }

  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    const exit = once(child, "exit");
    child.kill(signal);
    await exit;
  }

  /** Returns null if the replica is ready, otherwise its reason. */
  async #unready(): Promise<string | null> {
    try {
      await this.#get("/readyz");
      return null;
    } catch (error) {
      return String(error);
    }
  }

  async ready(timeoutMs: number): Promise<void> {
    const deadlineMs = Date.now() + timeoutMs;
    for (let reason = await this.#unready(); reason !== null; reason = await this.#unready()) {
      if (this.#child === null) throw new Error(`${this.task.name} has ended; its log: ${this.task.logPath}`);
      if (Date.now() > deadlineMs)
        throw new Error(`${this.task.name} isn't ready within ${timeoutMs} ms: ${reason}`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  async clusterGraph(): Promise<ClusterGraphSnapshot> {
    return JSON.parse(await this.#get("/api/v1/graph/cluster")) as ClusterGraphSnapshot;
  }

  metrics(): Promise<string> {
    return this.#get("/metrics");
  }

  #get(path: string): Promise<string> {
    return this.task.seat.get(path, REQUEST_TIMEOUT_MS);
  }
}
