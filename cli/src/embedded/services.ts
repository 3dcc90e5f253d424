import { createAggregator, type ProbeAddresses } from "@isochrone/aggregator";
import type { Bus } from "@isochrone/bus";
import {
  ClusterTargets,
  createCollector,
  createCollectorMetrics,
  DEFAULT_DISCOVERY,
  type CollectorMetrics,
  type TargetSource,
} from "@isochrone/collector";
import { createPage, withEmulator } from "@isochrone/dashboard";
import type { ClusterStore } from "@isochrone/kubernetes";
import { addLinkRoutes } from "@isochrone/lab";
import type { EmulatedNetwork, LabCluster, LinkRoutesOptions, MetricsPage } from "@isochrone/lab";
import { createProbe, type MeasuringThreads, type Probe } from "@isochrone/probe";
import { createRegistry, systemClock, systemRandom, type Logger, type Part } from "@isochrone/runtime";
import { createSchedulerPlugin } from "@isochrone/scheduler-plugin";
import type { MoveProgress } from "@isochrone/scheduler-plugin";
import { embeddedPrices } from "./demo-prices.ts";
import type { EmbeddedOptions } from "./options.ts";
import type { PartTokens } from "./part-tokens.ts";
import {
  aggregatorConfig,
  collectorConfig,
  movingConfig,
  probeConfigOf,
  schedulerConfig,
  writingConfig,
} from "./settings.ts";

/** Lets the page compare with the best placement; costs milliseconds per run. */
export const PROPOSALS = { intervalMs: 5_000, planMs: 20, maxPairs: 5_000, seed: 1 };

export interface Surroundings extends BareSurroundings {
  readonly emulator: LinkRoutesOptions;
}

export interface BareSurroundings {
  readonly options: EmbeddedOptions;
  readonly bus: Bus;
  readonly tokens: PartTokens;
  readonly store: ClusterStore;
  readonly isReal: boolean;
  readonly logger: Logger;
  readonly pages: MetricsPage[];
}

const clock = systemClock;
const random = systemRandom;

export function registryOf(
  { pages }: Pick<BareSurroundings, "pages">,
  job: string,
  instance: string,
): ReturnType<typeof createRegistry> {
  const registry = createRegistry();
  pages.push({ job: `isochrone-${job}`, instance, registry });
  return registry;
}

export function aggregatorOf(
  surroundings: Surroundings,
  port: number,
  addresses: ProbeAddresses,
  decisionsUrl: string,
) {
  const { options, bus, tokens, store, isReal, emulator, logger } = surroundings;
  return createAggregator(aggregatorConfig(options, port, decisionsUrl), {
    bus,
    access: { gate: tokens.gate, isMetricsOpen: true },
    store,
    clock,
    random,
    logger: logger.child({ service: "aggregator" }),
    registry: registryOf(surroundings, "aggregator", "aggregator"),
    addresses,
    page: withEmulator(createPage()),
    addRoutes: (app) => addLinkRoutes(app, emulator),
    prices: embeddedPrices(options),
    ...(isReal ? writingConfig(options) : {}),
  });
}

interface SchedulerSeat {
  readonly port: number;
  readonly webhookPort: number;
  readonly graphUrl: string;
  readonly onMove: (progress: MoveProgress) => void;
}

export function schedulerOf(
  surroundings: Surroundings,
  { port, webhookPort, graphUrl, onMove }: SchedulerSeat,
) {
  const { options, store, isReal, logger } = surroundings;
  return createSchedulerPlugin(schedulerConfig(options, port, graphUrl), {
    store,
    clock,
    random,
    logger: logger.child({ service: "scheduler-plugin" }),
    registry: registryOf(surroundings, "scheduler-plugin", "scheduler-plugin"),
    proposals: PROPOSALS,
    ...movingConfig(options, isReal, webhookPort),
    onMove,
  });
}

interface NodeSeat {
  readonly name: string;
  readonly zone: string;
  readonly region: string;
}

/** All nodes' probes and the addresses by which they reach each other: the pair's relay. */
export class EmbeddedProbes implements ProbeAddresses {
  readonly #network: EmulatedNetwork;
  readonly #seats: readonly NodeSeat[];
  readonly #probes = new Map<string, Probe>();
  readonly #exposed = new Set<string>();

  constructor(network: EmulatedNetwork, seats: readonly NodeSeat[]) {
    this.#network = network;
    this.#seats = seats;
  }

  /** One probe per node; once started, its responder is reachable from the others. */
  services(
    surroundings: BareSurroundings,
    thread: MeasuringThreads,
    hmacKeys: string,
    aggregatorUrl: string,
  ): Part[] {
    const { options, bus, tokens, logger } = surroundings;
    return this.#seats.flatMap(({ name: node, zone, region }) => {
      const config = probeConfigOf(options, {
        node,
        zone,
        region,
        bindAddress: this.#network.nodeAddress(node),
        identity: this.#identity(node),
        hmacKeys,
        aggregatorUrl,
      });
      const probe = createProbe(config, {
        ...tokens.partOf("probe", node, bus),
        clock,
        random,
        logger: logger.child({ service: "probe", node }),
        registry: registryOf(surroundings, "probe", node),
        thread,
      });
      this.#probes.set(node, probe);
      const start = async (): Promise<void> => {
        await this.#network.expose(node, { protocol: "udp", port: probe.udpPort });
        await this.#network.expose(node, { protocol: "tcp", port: probe.tcpPort });
        this.#exposed.add(node);
      };
      const stop = (): void => void this.#exposed.delete(node);
      return [
        { name: `probe ${node}`, service: probe },
        { name: `addresses of probe ${node}`, service: { start, stop } },
      ];
    });
  }

  refreshPlans(): void {
    for (const probe of this.#probes.values()) probe.refreshPlan();
  }

  self(node: string): string | null {
    return this.#exposed.has(node) ? this.#identity(node) : null;
  }

  peer(source: string, target: string) {
    const probe = this.#probes.get(target);
    if (probe === undefined || !this.#exposed.has(target)) return null;
    const udp = this.#network.resolve(source, target, { protocol: "udp", port: probe.udpPort });
    const tcp = this.#network.resolve(source, target, { protocol: "tcp", port: probe.tcpPort });
    // No bandwidth tests over the relay: they would measure this machine.
    return {
      address: udp.host,
      identity: this.#identity(target),
      udpPort: udp.port,
      tcpPort: tcp.port,
      bandwidthPort: null,
    };
  }

  /** Nodes sharing one address get identities of the documentation range. */
  #identity(node: string): string {
    if (this.#network.addressing === "loopback") return this.#network.nodeAddress(node);
    return `192.0.2.${this.#seats.findIndex(({ name }) => name === node) + 1}`;
  }
}

export function collectorServices(
  surroundings: BareSurroundings,
  seats: readonly NodeSeat[],
  aggregatorUrl: string,
  cluster: () => LabCluster,
): Part[] {
  const { options, bus, tokens, store, isReal, logger } = surroundings;
  const registry = registryOf(surroundings, "collector", "all");
  const metrics: CollectorMetrics = createCollectorMetrics(registry);
  return seats.flatMap(({ name: node }) => {
    const nodeLogger = logger.child({ service: "collector", node });
    const targets = new ClusterTargets({
      store,
      clock,
      random,
      logger: nodeLogger,
      node,
      kubeletScheme: "http",
      ...(isReal ? { discovery: { ...DEFAULT_DISCOVERY, kubelet: null } } : {}),
    });
    const collector = createCollector(collectorConfig(options, node, aggregatorUrl), {
      bus: tokens.partOf("collector", node, bus).bus,
      targets: isReal ? servedTargets(targets, node, cluster) : targets,
      clock,
      random,
      logger: nodeLogger,
      registry,
      metrics,
    });
    return [
      { name: `targets ${node}`, service: targets },
      { name: `collector ${node}`, service: collector },
    ];
  });
}

/** With a real API server, addresses are KWOK's or unroutable: pages are read from local stand-ins. */
function servedTargets(discovered: TargetSource, node: string, cluster: () => LabCluster): TargetSource {
  return {
    targets() {
      const lab = cluster();
      const pages = new Map(
        lab.pods().map(({ namespace, name, metricsUrl }) => [`${namespace}/${name}`, metricsUrl]),
      );
      const ofPods = discovered.targets().flatMap((target) => {
        const url = pages.get(target.instance) ?? null;
        return url === null ? [] : [{ ...target, url }];
      });
      const url = lab.usagePage(node);
      const kubelet = { kind: "cadvisor", role: "kubelet", instance: `kubelet/${node}` } as const;
      return url === null ? ofPods : [{ ...kubelet, url }, ...ofPods];
    },
  };
}
