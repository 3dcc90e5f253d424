// Pages of a kubelet and of sidecars whose counters follow known rates, with realistic counter faults.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Target } from "@isochrone/collector/testing";
import type { RunningPrometheus, ScrapeConfig } from "./server.ts";

/** Duration of the pages' changes. */
export const RUN_MS = 28_000;

interface Flow {
  readonly target: string;
  readonly requestsPerSecond: number;
  readonly failedPerSecond: number;
  readonly bytesPerRequest: number;
  /** First request of the channel. */
  readonly fromMs: number;
}

interface Sidecar {
  readonly workload: string;
  readonly pod: string;
  readonly flows: readonly Flow[];
  readonly bornMs: number;
  /** Times of its counter resets. */
  readonly restartsMs: readonly number[];
  /** Interval in which its page returns 503. */
  readonly failsMs: readonly [number, number] | null;
}

const flow = (target: string, requestsPerSecond: number, fromMs = -Infinity): Flow => ({
  target,
  requestsPerSecond,
  failedPerSecond: requestsPerSecond / 5,
  bytesPerRequest: 1000,
  fromMs,
});

const steady = { bornMs: -Infinity, restartsMs: [], failsMs: null };

const SIDECARS: readonly Sidecar[] = [
  { ...steady, workload: "web", pod: "web-1", flows: [flow("api", 40)], restartsMs: [7300, 23_400] },
  { ...steady, workload: "web", pod: "web-2", flows: [flow("api", 60), flow("mail", 30, 9500)] },
  { ...steady, workload: "api", pod: "api-1", flows: [flow("db", 80)], failsMs: [11_000, 14_500] },
  { ...steady, workload: "job", pod: "job-1", flows: [flow("db", 50, 8000)], bornMs: 8000 },
];
const PODS = [
  { pod: "web-1", cores: 0.25, memoryBytes: 100_000_000, restartsMs: [7300] },
  { pod: "web-2", cores: 1.5, memoryBytes: 200_000_000, restartsMs: [] },
  { pod: "api-1", cores: 0.5, memoryBytes: 300_000_000, restartsMs: [] },
];
export const NODE = { cores: 3, memoryBytes: 4_000_000_000, receivedBytesPerSecond: 250_000 };
/** Interval in which Prometheus is paused. */
const FROZEN_MS = [15_500, 20_600] as const;

/** Serves /metrics/cadvisor and /sidecar/<pod>. Time 0 is `run`; constant counters started before. */
export class MeshPages {
  #beganMs = Number.POSITIVE_INFINITY;
  #server: Server | null = null;
  #address = "";

  async start(): Promise<void> {
    this.#server = createServer((request, response) => {
      const page = this.#page(request.url ?? "");
      response.setHeader("content-type", "text/plain; version=0.0.4");
      if (page === null) response.statusCode = 503;
      response.end(page ?? "");
    });
    await new Promise<void>((resolve) => this.#server!.listen(0, "127.0.0.1", resolve));
    this.#address = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise<void>((resolve) => this.#server?.close(() => resolve()) ?? resolve());
  }

  /** Runs the scenario. Resolves at its end. */
  async run(prometheus: RunningPrometheus): Promise<void> {
    this.#beganMs = Date.now();
    await sleep(FROZEN_MS[0]);
    prometheus.freeze();
    await sleep(FROZEN_MS[1] - FROZEN_MS[0]);
    prometheus.thaw();
    await sleep(RUN_MS - FROZEN_MS[1]);
  }

  pods(): string[] {
    return PODS.map(({ pod }) => pod);
  }

  scrapeConfigs(): ScrapeConfig[] {
    const kubelet = { __metrics_path__: "/metrics/cadvisor", instance: "10.0.0.1:10250", node: "n1" };
    const sidecars = SIDECARS.map(({ pod }) => ({
      __metrics_path__: `/sidecar/${pod}`,
      instance: `${pod}:15090`,
      namespace: "shop",
      pod,
    }));
    return [
      { job: "kubelet", address: this.#address, targets: [kubelet] },
      { job: "istio/envoy-stats", address: this.#address, targets: sidecars },
    ];
  }

  targets(): Target[] {
    const url = (path: string): string => `http://${this.#address}${path}`;
    return [
      { kind: "cadvisor", url: url("/metrics/cadvisor"), instance: "kubelet/n1" },
      ...SIDECARS.map(({ pod }): Target => ({
        kind: "istio",
        url: url(`/sidecar/${pod}`),
        instance: `shop/${pod}`,
      })),
    ];
  }

  channels(): {
    readonly name: string;
    readonly requestsPerSecond: number;
    readonly bytesPerSecond: number;
  }[] {
    const rates = new Map<string, { requestsPerSecond: number; bytesPerSecond: number }>();
    for (const { workload, flows } of SIDECARS)
      for (const { target, requestsPerSecond, failedPerSecond, bytesPerRequest } of flows) {
        const name = `${workload} ${target}`;
        const sum = rates.get(name) ?? { requestsPerSecond: 0, bytesPerSecond: 0 };
        sum.requestsPerSecond += requestsPerSecond + failedPerSecond;
        sum.bytesPerSecond += (requestsPerSecond + failedPerSecond) * bytesPerRequest;
        rates.set(name, sum);
      }
    return [...rates].map(([name, sum]) => ({ name, ...sum })).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  usage(): { readonly pod: string; readonly cpuMillicores: number; readonly memoryBytes: number }[] {
    return PODS.map(({ pod, cores, memoryBytes }) => ({ pod, cpuMillicores: cores * 1000, memoryBytes }));
  }

  #page(path: string): string | null {
    const nowMs = Math.max(0, Date.now() - this.#beganMs);
    if (path === "/metrics/cadvisor") return cadvisorPage(nowMs);
    const sidecar = SIDECARS.find(({ pod }) => path === `/sidecar/${pod}`);
    if (sidecar === undefined || nowMs < sidecar.bornMs) return null;
    const { failsMs } = sidecar;
    if (failsMs !== null && nowMs >= failsMs[0] && nowMs < failsMs[1]) return null;
    return sidecarPage(sidecar, nowMs);
  }
}

/** Age of a counter at `nowMs` in seconds: an hour more than the run, unless it was reset. */
function countedSeconds(nowMs: number, fromMs: number, restartsMs: readonly number[]): number {
  const beganMs = [Math.max(fromMs, -3_600_000), ...restartsMs].filter((ms) => ms <= nowMs);
  return (nowMs - Math.max(...beganMs)) / 1000;
}

function cadvisorPage(nowMs: number): string {
  const cpu = ["# TYPE container_cpu_usage_seconds_total counter"];
  const memory = ["# TYPE container_memory_working_set_bytes gauge"];
  for (const { pod, cores, memoryBytes, restartsMs } of PODS) {
    const labels = `container="app",id="/kubepods/${pod}/app",name="${pod}",namespace="shop",pod="${pod}"`;
    const seconds = countedSeconds(nowMs, -Infinity, restartsMs) * cores;
    cpu.push(`container_cpu_usage_seconds_total{${labels},cpu="total"} ${seconds}`);
    memory.push(`container_memory_working_set_bytes{${labels}} ${memoryBytes}`);
  }
  const seconds = countedSeconds(nowMs, -Infinity, []);
  cpu.push(`container_cpu_usage_seconds_total{id="/",cpu="total"} ${seconds * NODE.cores}`);
  memory.push(`container_memory_working_set_bytes{id="/"} ${NODE.memoryBytes}`);
  const network = [
    "# TYPE container_network_receive_bytes_total counter",
    `container_network_receive_bytes_total{id="/",interface="eth0"} ${Math.floor(seconds * NODE.receivedBytesPerSecond)}`,
  ];
  return [...cpu, ...memory, ...network, ""].join("\n");
}

function sidecarPage({ workload, flows, restartsMs }: Sidecar, nowMs: number): string {
  const requests = ["# TYPE istio_requests_total counter"];
  const bytes = ["# TYPE istio_response_bytes histogram"];
  for (const { target, requestsPerSecond, failedPerSecond, bytesPerRequest, fromMs } of flows) {
    if (nowMs < fromMs) continue;
    const seconds = countedSeconds(nowMs, fromMs, restartsMs);
    for (const [code, each] of [
      ["200", requestsPerSecond],
      ["503", failedPerSecond],
    ] as const) {
      const labels = `reporter="source",source_workload="${workload}",source_workload_namespace="shop",destination_workload="${target}",destination_workload_namespace="shop",response_code="${code}"`;
      const count = Math.floor(seconds * each);
      requests.push(`istio_requests_total{${labels}} ${count}`);
      bytes.push(
        `istio_response_bytes_bucket{${labels},le="+Inf"} ${count}`,
        `istio_response_bytes_sum{${labels}} ${count * bytesPerRequest}`,
        `istio_response_bytes_count{${labels}} ${count}`,
      );
    }
  }
  return [...requests, ...bytes, ""].join("\n");
}
