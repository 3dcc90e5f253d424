// A real node_exporter, scraped directly and through Prometheus. Published values lie between the kernel's
// values before and after.
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import { createMemoryBus } from "@isochrone/bus/memory";
import { collectorSettings, createCollector } from "@isochrone/collector";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom, systemClock, type Service } from "@isochrone/runtime";
import { configWith, MemoryLogger } from "@isochrone/runtime/testing";
import { MetricsDecoder, TOPICS } from "@isochrone/telemetry";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Aggregator } from "@isochrone/aggregator/testing";
import type { MemoryBus } from "@isochrone/bus/testing";
import { createPrometheusCollector } from "@isochrone/collector/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../harness/common/free-port.ts";
import { canRunPrometheus, startPrometheus, type RunningPrometheus } from "../harness/prometheus/server.ts";

/** Debian's name of it. With CI set, a missing program is an error instead of a skip. */
const PROGRAM = "prometheus-node-exporter";
const missing = [
  ...(spawnSync(PROGRAM, ["--version"]).status === 0 ? [] : [PROGRAM]),
  ...(canRunPrometheus ? [] : ["prometheus"]),
];
const canRun = process.platform === "linux" && (missing.length === 0 || process.env["CI"] === "true");
const HOST = "127.0.0.1";
/** The kernel and the exporter count in hundredths of a second. */
const TICK_SECONDS = 0.01;
const EXPORTER = { namespace: "monitoring", pod: "node-exporter-x7f2k", node: "n1" };

function idleSeconds(): number {
  const [, idle] = /^cpu +(?:\d+ ){3}(\d+) /m.exec(readFileSync("/proc/stat", "utf8")) ?? [];
  return Number(idle) / 100;
}

function totalBytes(): number {
  const [, kibibytes] = /^MemTotal: +(\d+) kB$/m.exec(readFileSync("/proc/meminfo", "utf8")) ?? [];
  return Number(kibibytes) * 1024;
}

class Side {
  readonly bus: MemoryBus = createMemoryBus({ clock: systemClock });
  readonly idle: number[] = [];
  readonly memory: number[] = [];
  readonly told = new Set<string>();
  readonly #sums = new Map<number, number>();
  readonly #aggregator: Aggregator;
  readonly #collector: Service;

  constructor(
    settings: Readonly<Record<string, unknown>>,
    targets: { kind: "node_exporter"; url: string }[],
  ) {
    const around = {
      bus: this.bus,
      clock: systemClock,
      random: seededRandom(1),
      logger: new MemoryLogger(),
    };
    const beat = { node: "n1", intervalMs: 1000, timeoutMs: 900, port: 0 };
    const collector = configWith(collectorSettings, { ...beat, ...settings });
    const beside = { ...around, registry: createRegistry() };
    const pages = targets.map((target) => ({ ...target, instance: target.url }));
    this.#collector =
      collector.mode === "prometheus"
        ? createPrometheusCollector(collector, beside)
        : createCollector(collector, { ...beside, targets: { targets: () => pages } });
    const { aggregator } = loadSettings([aggregatorSettings], {
      env: {},
      file: { aggregator: { windowMs: 30_000, paneMs: 2000, buildIntervalMs: 500, host: HOST, port: 0 } },
    });
    const store = createMemoryStore({ clock: systemClock });
    void store.create({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "n1" },
      status: { allocatable: { cpu: "1000", memory: String(totalBytes()) } },
    });
    this.#aggregator = createAggregator(aggregator, { ...around, store, registry: createRegistry() });
  }

  async start(): Promise<void> {
    await this.#aggregator.start();
    await this.bus.subscribe({
      topics: [TOPICS.usage],
      from: "earliest",
      onBatch: async (batch) => {
        for (const record of batch.records) this.#read(record.value);
      },
    });
    await this.#collector.start();
  }

  async stop(): Promise<void> {
    await this.#collector.stop();
    await this.#aggregator.stop();
    await this.bus.close();
  }

  async node(): Promise<ClusterGraphSnapshot["nodes"][number] | undefined> {
    const { body } = await this.#aggregator.app.inject("/api/v1/graph/cluster");
    return (JSON.parse(body) as ClusterGraphSnapshot).nodes[0];
  }

  /** Sums idle times of one timestamp, because a page has either one series or one per CPU. */
  #read(value: Uint8Array): void {
    this.#sums.clear();
    new MetricsDecoder({ maxSeries: 1000 }).decode(value, {
      number: ({ name, attributes, resource }, _startMs, timeMs, number) => {
        this.told.add(`${String(resource["k8s.node.name"])} ${name} ${String(attributes["mode"] ?? "")}`);
        if (name === "node_memory_MemAvailable_bytes") this.memory.push(number);
        else this.#sums.set(timeMs, (this.#sums.get(timeMs) ?? 0) + number);
      },
      histogram: () => undefined,
      exponentialHistogram: () => undefined,
      refused: (reason, name) => this.told.add(`${reason} ${name}`),
    });
    this.idle.push(...this.#sums.values());
  }
}

describe.runIf(canRun)("node_exporter (needs the programs prometheus-node-exporter and prometheus)", () => {
  let exporter: ChildProcess;
  let prometheus: RunningPrometheus;
  let sides: Readonly<Record<string, Side>>;
  let beforeSeconds: number;

  beforeAll(async () => {
    if (missing.length > 0) throw new Error(`${missing.join(" and ")} must be installed`);
    beforeSeconds = idleSeconds();
    const port = await freePort(HOST, new Set());
    const args = ["--collector.disable-defaults", "--collector.cpu", "--collector.meminfo"];
    exporter = spawn(PROGRAM, [`--web.listen-address=${HOST}:${port}`, ...args], { stdio: "ignore" });
    const address = `${HOST}:${port}`;
    prometheus = await startPrometheus([{ job: "node-exporter", address, targets: [EXPORTER] }]);
    const asked = {
      mode: "prometheus",
      prometheusUrl: prometheus.url,
      prometheusTimeoutMs: 900,
      nodeExporterDaemonSets: ["monitoring/node-exporter"],
    };
    sides = {
      directly: new Side({}, [{ kind: "node_exporter", url: `http://${address}/metrics` }]),
      "by way of Prometheus": new Side(asked, []),
    };
    for (const side of Object.values(sides)) await side.start();
  });

  afterAll(async () => {
    for (const side of Object.values(sides ?? {})) await side.stop();
    await prometheus?.stop();
    if (exporter?.exitCode !== null) return;
    exporter.kill("SIGKILL");
    await once(exporter, "exit");
  });

  test.each(["directly", "by way of Prometheus"])("read %s, says what the kernel says", async (way) => {
    const side = sides[way]!;
    await expect.poll(() => side.idle.length, { timeout: 60_000 }).toBeGreaterThan(3);
    await expect.poll(async () => (await side.node())?.availableCpuMillicores ?? null).not.toBeNull();
    expect([...side.told].sort()).toEqual([
      "n1 node_cpu_seconds_total idle",
      "n1 node_memory_MemAvailable_bytes ",
    ]);
    const node = await side.node();
    const afterSeconds = idleSeconds();
    const cpus = readFileSync("/proc/stat", "utf8").match(/^cpu\d+ /gm)!.length;
    // Each CPU's time and their sum are truncated to ticks.
    const errorSeconds = (cpus + 1) * TICK_SECONDS;
    const sorted = side.idle.toSorted((a, b) => a - b);
    expect(sorted[0]).toBeGreaterThanOrEqual(beforeSeconds - errorSeconds);
    expect(sorted.at(-1)).toBeLessThanOrEqual(afterSeconds + errorSeconds);
    for (const bytes of side.memory) expect(bytes).toBeLessThanOrEqual(totalBytes());
    expect(node?.availableCpuMillicores).toBeGreaterThanOrEqual(0);
    // At most the machine's resources, although this test's node object claims a thousand cores.
    expect(node?.availableCpuMillicores).toBeLessThanOrEqual(cpus * 1000 * 1.05);
    // The observer and the graph read the bus independently.
    await expect.poll(() => side.memory).toContain(node?.availableMemoryBytes);
  });
});
