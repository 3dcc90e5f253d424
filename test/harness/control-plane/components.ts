import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RestartableProcess } from "../common/restartable-process.ts";
import type { ApiClient } from "./api-client.ts";
import {
  apiServerArguments,
  controllerManagerArguments,
  etcdArguments,
  FILES,
  kwokArguments,
  PLAIN_SCHEDULER_CONFIG,
  schedulerArguments,
  type Ports,
} from "./arguments.ts";
import { KWOK_ANNOTATION } from "./objects.ts";
import type { OptionalComponent, Programs } from "./programs.ts";

export type Component = "etcd" | "api-server" | OptionalComponent;

interface ComponentsOptions {
  readonly components: readonly OptionalComponent[];
  readonly audit: boolean;
  readonly apiServerFlags: readonly string[];
  readonly controllerManagerFlags: readonly string[];
  readonly schedulerFlags: readonly string[];
  readonly schedulerConfig: string | undefined;
}

interface Testbed {
  readonly programs: Programs;
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly ports: Ports;
  readonly kubeconfigs: {
    readonly controllerManager: string;
    readonly scheduler: string;
    readonly kwok: string;
  };
  readonly clients: {
    readonly etcd: string;
    readonly apiServer: ApiClient;
    readonly controllerManager: ApiClient;
    readonly scheduler: ApiClient;
    readonly kwok: string;
  };
}

const START_WITHIN_MS = 90_000;
/** Open watches delay an orderly shutdown of the API server by a minute. */
const STOP_WITHIN_MS = 1000;
const PROBE_WITHIN_MS = 2000;
/** Saves a third of the startup CPU and costs 100 MB of memory. */
const API_SERVER_GOGC = "400";
const CLOCK_TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

export class Components {
  readonly #testbed: Testbed;
  readonly #processes: ReadonlyMap<Component, RestartableProcess>;

  constructor(testbed: Testbed, options: ComponentsOptions) {
    this.#testbed = testbed;
    this.#processes = new Map(
      (["etcd", "api-server", ...options.components] as const).map((name) => [
        name,
        makeProcess(testbed, name, options),
      ]),
    );
    if (options.components.includes("scheduler")) this.writeSchedulerConfig(options.schedulerConfig);
  }

  async startAll(): Promise<void> {
    await this.of("etcd").start();
    await this.of("api-server").start();
    const others = [...this.#processes].filter(([name]) => name !== "etcd" && name !== "api-server");
    await Promise.all(others.map(([, process]) => process.start()));
  }

  has(name: Component): boolean {
    return this.#processes.has(name);
  }

  of(name: Component): RestartableProcess {
    const process = this.#processes.get(name);
    if (process !== undefined) return process;
    throw new Error(
      `${name} is no part of this control plane, which has ${[...this.#processes.keys()].join(", ")}`,
    );
  }

  async stop(name: Component): Promise<void> {
    await this.of(name).stop(STOP_WITHIN_MS);
  }

  async restart(name: Component): Promise<void> {
    await this.stop(name);
    await this.of(name).start();
  }

  async metrics(name: "api-server" | "controller-manager" | "scheduler"): Promise<string> {
    const { apiServer, controllerManager, scheduler } = this.#testbed.clients;
    const clients = { "api-server": apiServer, "controller-manager": controllerManager, scheduler };
    return clients[name].request<string>("GET", "/metrics");
  }

  writeSchedulerConfig(config = PLAIN_SCHEDULER_CONFIG): void {
    const { folder, kubeconfigs } = this.#testbed;
    const path = join(folder, FILES.schedulerConfig);
    writeFileSync(path, config.replaceAll("@KUBECONFIG@", kubeconfigs.scheduler));
  }

  /** CPU since the start, and current memory. Zeros if the component does not run. */
  usage(name: Component): { readonly cpuSeconds: number; readonly residentBytes: number } {
    const { pid } = this.of(name);
    if (pid === null) return { cpuSeconds: 0, residentBytes: 0 };
    // Fields after the name, which may contain spaces. State is the third field in proc(5).
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ").map(Number);
    return {
      cpuSeconds: (fields[11]! + fields[12]!) / CLOCK_TICKS_PER_SECOND,
      residentBytes: fields[21]! * PAGE_BYTES,
    };
  }
}

function makeProcess(testbed: Testbed, name: Component, options: ComponentsOptions): RestartableProcess {
  const { folder, environment } = testbed;
  const [command, args, isReady] = COMMANDS[name](testbed, options);
  return new RestartableProcess({
    name,
    command,
    args,
    cwd: folder,
    environment: name === "api-server" ? { GOGC: API_SERVER_GOGC, ...environment } : environment,
    logPath: join(folder, `${name}.log`),
    isReady,
    startWithinMs: START_WITHIN_MS,
  });
}

type Command = readonly [command: string, args: readonly string[], isReady: () => Promise<boolean>];

const COMMANDS: Readonly<Record<Component, (testbed: Testbed, options: ComponentsOptions) => Command>> = {
  etcd: ({ programs, folder, ports, clients }) => [
    programs.etcd,
    etcdArguments(folder, ports),
    () => isWell(`${clients.etcd}/health`),
  ],
  "api-server": ({ programs, folder, ports, clients }, { audit, apiServerFlags, components }) => {
    const serviceAccounts = components.includes("controller-manager");
    const args = apiServerArguments(folder, ports, { audit, serviceAccounts, flags: apiServerFlags });
    return [programs.apiServer, args, () => isOk(clients.apiServer, "/readyz")];
  },
  "controller-manager": ({ programs, folder, ports, kubeconfigs, clients }, { controllerManagerFlags }) => [
    programs.controllerManager,
    [...controllerManagerArguments(folder, ports, kubeconfigs.controllerManager), ...controllerManagerFlags],
    () => isOk(clients.controllerManager, "/healthz"),
  ],
  scheduler: ({ programs, folder, ports, clients }, { schedulerFlags }) => [
    programs.scheduler,
    [...schedulerArguments(folder, ports), ...schedulerFlags],
    () => isOk(clients.scheduler, "/readyz"),
  ],
  kwok: ({ programs, ports, kubeconfigs, clients }) => [
    programs.kwok,
    kwokArguments(ports, kubeconfigs.kwok, programs.stages, `${KWOK_ANNOTATION}=fake`),
    () => isWell(`${clients.kwok}/healthz`),
  ],
};

async function isWell(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_WITHIN_MS) }).catch(() => null);
  await response?.body?.cancel();
  return response?.ok === true;
}

async function isOk(client: ApiClient, path: string): Promise<boolean> {
  const answer = await client
    .answer("GET", path, undefined, { timeoutMs: PROBE_WITHIN_MS })
    .catch(() => null);
  return answer?.code === 200;
}
