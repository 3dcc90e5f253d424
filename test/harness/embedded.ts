import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { ClusterGraphSnapshot, DecisionList, WorkflowGraphSnapshot } from "@isochrone/topology";

const command = join(import.meta.dirname, "../../cli/bin/isochrone.mjs");

/** Usually seconds; a busy machine may take minutes. */
const START_WITHIN_MS = 280_000;

interface UpEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

interface Urls {
  readonly page: string;
  readonly extender: string;
  readonly lab: string;
}

export interface EndToEnd {
  readonly count: number;
  readonly errors: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

export class EmbeddedSystem {
  readonly events: UpEvent[] = [];
  stderr = "";
  readonly #child: ChildProcess;
  readonly #waiters = new Set<() => void>();

  private constructor(child: ChildProcess) {
    this.#child = child;
    createInterface({ input: child.stdout! }).on("line", (line) => {
      if (line.startsWith("{")) this.events.push(JSON.parse(line) as UpEvent);
      for (const wake of this.#waiters) wake();
    });
    child.stderr!.on("data", (chunk: Buffer) => (this.stderr += chunk.toString()));
    child.on("exit", () => {
      for (const wake of this.#waiters) wake();
    });
  }

  /** Returns while services still start. Settings may come from the environment. */
  static launch(args: readonly string[], env: Readonly<Record<string, string>> = {}): EmbeddedSystem {
    const child = spawn(process.execPath, [command, "up", "-o", "json", "--port", "0", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    return new EmbeddedSystem(child);
  }

  static start(...args: readonly string[]): Promise<EmbeddedSystem> {
    return EmbeddedSystem.startWith({}, ...args);
  }

  static async startWith(
    env: Readonly<Record<string, string>>,
    ...args: readonly string[]
  ): Promise<EmbeddedSystem> {
    const system = EmbeddedSystem.launch(args, env);
    try {
      await system.event("started", START_WITHIN_MS);
      return system;
    } catch (error) {
      await system.stop();
      throw error;
    }
  }

  async event(name: string, timeoutMs: number): Promise<UpEvent> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const found = this.events.find(({ event }) => event === name);
      if (found !== undefined) return found;
      if (this.#child.exitCode !== null)
        throw new Error(
          `the system ended with code ${this.#child.exitCode} before "${name}":\n${this.stderr}`,
        );
      if (Date.now() > deadline)
        throw new Error(
          `no "${name}" within ${timeoutMs} ms; got ${this.events.map(({ event }) => event).join(", ")}\n${this.stderr}`,
        );
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiters.delete(wake);
          clearTimeout(timer);
          resolve();
        };
        const timer = setTimeout(wake, 250);
        this.#waiters.add(wake);
      });
    }
  }

  get urls(): Urls {
    return this.events.find(({ event }) => event === "started")!["urls"] as Urls;
  }

  async get<T>(base: keyof Urls, path: string): Promise<T> {
    const response = await fetch(`${this.urls[base]}${path}`, { signal: AbortSignal.timeout(10_000) });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }

  cluster(): Promise<ClusterGraphSnapshot> {
    return this.get("page", "/api/v1/graph/cluster");
  }

  workflow(): Promise<WorkflowGraphSnapshot> {
    return this.get("page", "/api/v1/graph/workflows/default/sample");
  }

  decisions(): Promise<DecisionList> {
    return this.get("page", "/api/v1/decisions?limit=100");
  }

  async cli(...args: readonly string[]): Promise<string> {
    const child = spawn(process.execPath, [command, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) throw new Error(`isochrone ${args.join(" ")} ended with ${code}: ${stderr}`);
    return stdout;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async stop(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    this.#child.kill("SIGINT");
    const ended = once(this.#child, "exit");
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 90_000);
    await ended;
    clearTimeout(timer);
    return this.#child.exitCode;
  }
}

export async function eventually<T>(
  what: string,
  timeoutMs: number,
  check: () => Promise<T | null | false>,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown = "never true";
  while (Date.now() < deadline) {
    try {
      const result = await check();
      if (result !== null && result !== false) return result;
      last = "not yet true";
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  throw new Error(`${what}: not within ${timeoutMs} ms`, { cause: last });
}
