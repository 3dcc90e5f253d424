import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../common/free-port.ts";
import { ReapedFolder } from "../common/reaped-folder.ts";
import { collectorBinary } from "./distribution.ts";

interface CollectorOptions {
  /** YAML as the Collector takes it; `${env:NAME}` refers to `environment` and `ports`. */
  readonly config: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Names of environment variables that get a free port of 127.0.0.1 each. */
  readonly ports?: readonly string[];
}

const START_DEADLINE_MS = 60_000;
const POLL_MS = 25;
const READY = "Everything is ready";

/** A running Collector. It is gone when closed, and when the process that started it ends in any way. */
interface Collector {
  /** By the names that `ports` had. */
  readonly ports: Readonly<Record<string, number>>;
  /** Everything it has printed. */
  readonly log: string;
  close(): Promise<void>;
}

/** Resolves when it says that it is ready. The first call ever builds it, which takes minutes. */
export async function startCollector({
  config,
  environment = {},
  ports: names = [],
}: CollectorOptions): Promise<Collector> {
  const program = await collectorBinary();
  const taken = new Set<number>();
  const ports: Record<string, number> = {};
  for (const name of names) ports[name] = await freePort("127.0.0.1", taken);
  const folder = new ReapedFolder("isochrone-otelcol");
  const logPath = join(folder.path, "log");
  const configPath = join(folder.path, "config.yaml");
  await writeFile(configPath, config);
  const output = openSync(logPath, "a");
  const child = spawn(program, ["--config", configPath], {
    cwd: folder.path,
    env: {
      ...folder.environment,
      ...environment,
      ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
    },
    detached: true,
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  child.unref();
  const collector: Collector = {
    ports,
    get log() {
      return readFileSync(logPath, "utf8");
    },
    close: () => folder.remove(),
  };
  try {
    await untilReady(child, collector);
  } catch (error) {
    await collector.close();
    throw error;
  }
  return collector;
}

async function untilReady(child: ChildProcess, collector: Collector): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS;
  let failure: Error | null = null;
  child.on("error", (error) => (failure = error));
  while (!collector.log.includes(READY)) {
    const tail = (): string => collector.log.trim().split("\n").slice(-20).join("\n");
    if (failure !== null || child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the Collector ended while it started:\n${tail()}`, { cause: failure });
    if (performance.now() > deadline)
      throw new Error(`the Collector isn't ready after ${START_DEADLINE_MS} ms:\n${tail()}`);
    await sleep(POLL_MS);
  }
}
