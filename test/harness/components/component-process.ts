import { join } from "node:path";
import type { Fetch } from "@isochrone/runtime";
import { TUNED, tunedEnvironment, type ComponentSettings } from "./tuned.ts";
import { RestartableProcess } from "../common/restartable-process.ts";

const ROOT = join(import.meta.dirname, "../../..");

const COMPONENTS = {
  probe: { folder: "probe", section: "probe", hostKey: "bindAddress", portKey: "httpPort" },
  collector: { folder: "collector", section: "collector", hostKey: "host", portKey: "port" },
  dispatcher: { folder: "dispatcher", section: "dispatcher", hostKey: "host", portKey: "httpPort" },
  aggregator: { folder: "aggregator", section: "aggregator", hostKey: "host", portKey: "port" },
  "scheduler-plugin": { folder: "scheduler-plugin", section: "scheduler", hostKey: "host", portKey: "port" },
} as const;

export type ComponentKind = keyof typeof COMPONENTS;

interface ComponentOptions {
  readonly kind: ComponentKind;
  readonly name: string;
  readonly port: number;
  readonly settings: ComponentSettings;
  readonly environment: NodeJS.ProcessEnv;
  readonly folder: string;
  /** Client for pages behind TLS. @default plain HTTP */
  readonly fetch?: Fetch;
}

const HOST = "127.0.0.1";
const START_WITHIN_MS = 60_000;
const REQUEST_TIMEOUT_MS = 5_000;

/** Runs a service's main.ts in its own process, configured by the environment. Ready by /readyz. */
export class ComponentProcess extends RestartableProcess {
  readonly name: string;
  readonly url: string;
  readonly #fetch: Fetch;

  constructor({ kind, name, port, settings, environment, folder, fetch: over }: ComponentOptions) {
    const { folder: service, section, hostKey, portKey } = COMPONENTS[kind];
    const own = { [hostKey]: HOST, [portKey]: port, ...settings[section] };
    const url = `${over === undefined ? "http" : "https"}://${String(own[hostKey])}:${port}`;
    const ask: Fetch = over ?? ((address, init) => fetch(address, init));
    super({
      name,
      command: process.execPath,
      args: [...TUNED, join(ROOT, service, "src/main.ts")],
      cwd: ROOT,
      environment: { ...environment, ...tunedEnvironment({ ...settings, [section]: own }) },
      logPath: join(folder, `${name}.log`),
      isReady: () => isReady(ask, url),
      startWithinMs: START_WITHIN_MS,
    });
    this.name = name;
    this.url = url;
    this.#fetch = ask;
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): ReturnType<Fetch> {
    return this.#fetch(this.url + path, { headers, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  }
}

async function isReady(ask: Fetch, url: string): Promise<boolean> {
  try {
    const response = await ask(`${url}/readyz`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
