import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../common/free-port.ts";
import { ReapedFolder } from "../common/reaped-folder.ts";
import { collectorBinary } from "./distribution.ts";

interface CollectorOptions {
  /** Collector configuration in YAML; `${env:NAME}` refers to `environment` and `ports`. */
  readonly config: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Environment variables that each get a free port of 127.0.0.1. */
  readonly ports?: readonly string[];
}

const START_DEADLINE_MS = 60_000;
const POLL_MS = 25;
const READY = "Everything is ready";

/** A running Collector. Removed on close and when the starting process ends for any reason. */
interface Collector {
  readonly ports: Readonly<Record<string, number>>;
  readonly log: string;
  close(): Promise<void>;
}

/** Resolves when the Collector reports that it is ready. The first call builds it, which takes minutes. */
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
