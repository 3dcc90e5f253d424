// Three probes on loopback addresses and an aggregator as plan and bus, all in this process.
import { createServer } from "node:net";
import { aggregatorSettings, createAggregator } from "@isochrone/aggregator";
import type { Aggregator } from "@isochrone/aggregator/testing";
import { createMemoryBus } from "@isochrone/bus/memory";
import { OtlpHttpPublisher } from "@isochrone/bus/testing";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createProbe, type Probe } from "@isochrone/probe";
import { probeConfig } from "@isochrone/probe/testing";
import { createRegistry, loadSettings, seededRandom, systemClock } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { Registry } from "prom-client";
import { vi } from "vitest";

const KEY = `1:${Buffer.alloc(32, 9).toString("base64")}`;
const NODES = ["a", "b", "c"] as const;
type ProbedNode = (typeof NODES)[number];
interface ProbeGroundOptions {
  /** Loopback address prefix of the nodes, such as "127.0.21". Unique per test file that runs in parallel. */
  readonly prefix: string;
  /** Interval of a probe's records. */
  readonly publishMs: number;
  /** Maximum number of buffered records while publishing fails. */
  readonly bufferRecords: number;
}

const TIMEOUT_PER_RECORD = 3;

export class ProbeTestbed {
  readonly store: ClusterStore = createMemoryStore({ clock: systemClock });
  readonly #options: ProbeGroundOptions;
  readonly #ports: { readonly aggregator: number; readonly probe: number };
  readonly #probes = new Map<ProbedNode, { readonly probe: Probe; readonly registry: Registry }>();
  #aggregator: Aggregator | null = null;
  #aggregatorRegistry = createRegistry();

  /** Resolves when all six links are measured. */
  static async start(options: ProbeGroundOptions): Promise<ProbeTestbed> {
    const testbed = new ProbeTestbed(options, { aggregator: await freePort(), probe: await freePort() });
    try {
      for (const node of NODES)
        for (const object of objectsOf(node, testbed.#addressOf(node))) await testbed.store.create(object);
      await testbed.startAggregator();
      for (const node of NODES) await testbed.startProbe(node);
      await soon(async () => {
        const { links } = await testbed.graph();
        if (links.filter(({ rttMs }) => rttMs.p50 !== null).length < 6)
          throw new Error("not all links are measured");
      });
      return testbed;
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  private constructor(options: ProbeGroundOptions, ports: { aggregator: number; probe: number }) {
    this.#options = options;
    this.#ports = ports;
  }

  async close(): Promise<void> {
    for (const node of this.#probes.keys()) await this.stopProbe(node);
    await this.stopAggregator();
  }

  async startAggregator(): Promise<void> {
    const { aggregator: port, probe: probePort } = this.#ports;
    this.#aggregatorRegistry = createRegistry();
    const { aggregator: config } = loadSettings([aggregatorSettings], {
      env: {},
      file: { aggregator: { windowMs: 6000, paneMs: 500, buildIntervalMs: 200, maxFutureMs: 500 } },
      overrides: {
        aggregator: {
          host: "127.0.0.1",
          port,
          probeUdpPort: probePort,
          probeTcpPort: probePort,
          probeBandwidthPort: 0,
        },
      },
    });
    this.#aggregator = createAggregator(config, {
      bus: createMemoryBus({ clock: systemClock }),
      store: this.store,
      clock: systemClock,
      random: seededRandom(1),
      logger: new MemoryLogger(),
      registry: this.#aggregatorRegistry,
    });
    await this.#aggregator.start();
  }

  async stopAggregator(): Promise<void> {
    await this.#aggregator?.stop();
    this.#aggregator = null;
  }

  async startProbe(node: ProbedNode): Promise<void> {
    const { publishMs, bufferRecords } = this.#options;
    const registry = createRegistry();
    const aggregatorUrl = `http://127.0.0.1:${this.#ports.aggregator}`;
    const probe = createProbe(
      probeConfig({
        node,
        bindAddress: this.#addressOf(node),
        udpPort: this.#ports.probe,
        tcpPort: this.#ports.probe,
        methods: ["udp_rr"],
        intervalMs: 50,
        timeoutMs: TIMEOUT_PER_RECORD * publishMs,
        publishIntervalMs: publishMs,
        planRefreshMs: 500,
        bufferRecords,
        // Publishes much more often than by default, so it has more to catch up with.
        catchUpRecordsPerSecond: 100,
        bandwidth: false,
        hmacKeys: KEY,
        aggregatorUrl,
      }),
      {
        bus: new OtlpHttpPublisher({ url: `${aggregatorUrl}/v1/metrics` }),
        clock: systemClock,
        random: seededRandom(2),
        logger: new MemoryLogger(),
        registry,
      },
    );
    await probe.start();
    this.#probes.set(node, { probe, registry });
  }

  async stopProbe(node: ProbedNode): Promise<void> {
    await this.#probes.get(node)?.probe.stop();
    this.#probes.delete(node);
  }

  async graph(): Promise<ClusterGraphSnapshot> {
    const response = await fetch(`http://127.0.0.1:${this.#ports.aggregator}/api/v1/graph/cluster`);
    return (await response.json()) as ClusterGraphSnapshot;
  }

  page(node: ProbedNode): Promise<string> {
    const running = this.#probes.get(node);
    if (running === undefined) throw new Error(`no probe runs on ${node}`);
    return running.registry.metrics();
  }

  /** Sums a probe's series whose line has this prefix. Missing series count as 0. */
  async metric(node: ProbedNode, start: string): Promise<number> {
    return sumOf(await this.page(node), start);
  }

  async aggregatorMetric(start: string): Promise<number> {
    return sumOf(await this.#aggregatorRegistry.metrics(), start);
  }

  #addressOf(node: ProbedNode): string {
    return `${this.#options.prefix}.${NODES.indexOf(node) + 1}`;
  }
}

export function soon(check: () => Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 25_000, interval: 200 });
}

function sumOf(page: string, start: string): number {
  const lines = page.split("\n").filter((line) => line.startsWith(start));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

function objectsOf(name: string, ip: string): KubernetesObject[] {
  return [
    {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name },
      status: { conditions: [{ type: "Ready", status: "True" }] },
    },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name: `probe-${name}`,
        namespace: "isochrone",
        labels: { "app.kubernetes.io/name": "isochrone-probe" },
      },
      spec: { nodeName: name, containers: [{ name: "probe", image: "none" }] },
      status: { phase: "Running", podIP: ip },
    },
  ];
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
