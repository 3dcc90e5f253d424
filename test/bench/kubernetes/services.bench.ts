// Resources of the real service processes on 5,000 nodes and 100,000 pods of 8 KB, first without changes,
// then with some hundred per second. Linux only. `--quick`: 15 s of changes instead of 60.
// `--profiles=FOLDER`: writes CPU and heap profiles there.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../probe/free-port.ts";
import type { BenchResult } from "../types.ts";
import { NODES, PODS, type Pace, type Serving } from "./load.ts";
import { ServiceProcess } from "./service-process.ts";

const MIB = 2 ** 20;
const READY_TARGET_SECONDS = 30;
const RESIDENT_TARGET_MIB = 1_024;
const CHANGES_PER_SECOND = 100;
const CHANGES_SECONDS = process.argv.includes("--quick") ? 15 : 60;
const [PROFILES] = process.argv.flatMap((argument) => /^--profiles=(.+)/.exec(argument)?.[1] ?? []);
/** For a container of 1 GiB. Node's default depends on the machine's memory. */
const HEAP_LIMIT = "--max-old-space-size=640";
const EXEC_ARGV =
  PROFILES === undefined
    ? [HEAP_LIMIT]
    : [HEAP_LIMIT, "--cpu-prof", "--heap-prof", `--diagnostic-dir=${PROFILES}`];

export async function run(): Promise<BenchResult[]> {
  const folder = await mkdtemp(join(tmpdir(), "isochrone-bench-"));
  const file = fileURLToPath(new URL("generated-api-server.ts", import.meta.url));
  const server = fork(file, { execArgv: process.execArgv });
  const services: ServiceProcess[] = [];
  try {
    const [serving] = (await once(server, "message")) as [Serving];
    const kubeconfig = join(folder, "kubeconfig");
    await writeFile(kubeconfig, kubeconfigOf(serving));
    const pace = (changesPerSecond: number): boolean => server.send({ changesPerSecond } satisfies Pace);
    const start = async (
      main: string,
      env: (port: number) => Record<string, string>,
    ): Promise<ServiceProcess> => {
      const port = await freePort();
      const service = new ServiceProcess(
        main,
        port,
        {
          ISOCHRONE_KUBERNETES_KUBECONFIG: kubeconfig,
          ...env(port),
        },
        EXEC_ARGV,
      );
      services.push(service);
      return service;
    };
    const aggregator = await start("aggregator/src/main.ts", (port) => ({
      ISOCHRONE_AGGREGATOR_HOST: "127.0.0.1",
      ISOCHRONE_AGGREGATOR_PORT: String(port),
    }));
    const ofAggregator = await measured("aggregator", aggregator, pace);
    await expectWhole(aggregator.url);
    const plugin = await start("scheduler-plugin/src/main.ts", (port) => ({
      ISOCHRONE_SCHEDULER_HOST: "127.0.0.1",
      ISOCHRONE_SCHEDULER_PORT: String(port),
      ISOCHRONE_SCHEDULER_GRAPH_URL: aggregator.url,
    }));
    return [...ofAggregator, ...(await measured("scheduler-plugin", plugin, pace))];
  } finally {
    for (const service of services.toReversed()) await service.stop();
    server.kill();
    await rm(folder, { recursive: true });
  }
}

async function measured(
  name: string,
  service: ServiceProcess,
  pace: (changesPerSecond: number) => unknown,
): Promise<BenchResult[]> {
  const readySeconds = await service.ready();
  const readyCpuSeconds = service.cpuSeconds;
  const readyPeakBytes = service.peakResidentBytes;
  pace(CHANGES_PER_SECOND);
  await sleep(CHANGES_SECONDS * 1_000);
  const cpuShare = (service.cpuSeconds - readyCpuSeconds) / CHANGES_SECONDS;
  const residentBytes = service.residentBytes;
  pace(0);
  const size = `${NODES.toLocaleString("en-US")} nodes, ${PODS.toLocaleString("en-US")} pods`;
  const changes = `${CHANGES_SECONDS} s of ${CHANGES_PER_SECOND} changes/s`;
  return [
    atMost(`${name}, ${size}: start to ready`, readySeconds, "s", READY_TARGET_SECONDS),
    { name: `${name}: CPU time to ready`, value: readyCpuSeconds, unit: "s" },
    { name: `${name}: peak RSS when ready`, value: readyPeakBytes / MIB, unit: "MiB" },
    atMost(`${name}: peak RSS`, service.peakResidentBytes / MIB, "MiB", RESIDENT_TARGET_MIB),
    { name: `${name}: RSS after ${changes}`, value: residentBytes / MIB, unit: "MiB" },
    { name: `${name}: CPU of one core under these`, value: 100 * cpuShare, unit: "%" },
  ];
}

/** Pods are replaced one by one, so their number is constant. */
async function expectWhole(url: string): Promise<void> {
  const answer = await fetch(`${url}/api/v1/graph/workflows`);
  const { workflows } = (await answer.json()) as { workflows: { pods: number }[] };
  const pods = workflows.reduce((sum, workflow) => sum + workflow.pods, 0);
  if (pods !== PODS) throw new Error(`the graphs must show ${PODS} pods, got ${pods}`);
}

function kubeconfigOf({ url, ca }: Serving): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "bench",
    contexts: [{ name: "bench", context: { cluster: "bench", user: "bench" } }],
    clusters: [
      {
        name: "bench",
        cluster: { server: url, "certificate-authority-data": Buffer.from(ca).toString("base64") },
      },
    ],
    users: [{ name: "bench", user: { token: "bench" } }],
  });
}

function atMost(name: string, value: number, unit: string, target: number): BenchResult {
  return { name, value, unit, target: `<= ${target} ${unit}`, met: value <= target };
}
