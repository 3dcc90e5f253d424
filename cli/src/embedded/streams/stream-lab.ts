// The embedded cluster of stream jobs: the scheduler-plugin places them, the aggregator distributes flow
// plans, and network managers apply them to emulated kernels.
import { createAggregator } from "@isochrone/aggregator";
import { createMemoryBus } from "@isochrone/bus/memory";
import { createPage } from "@isochrone/dashboard";
import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { ShapedNetwork, StreamCluster } from "@isochrone/lab/streams";
import { createNetworkManager, createPlanSource, flowsSettings } from "@isochrone/network-manager";
import { MemoryKernel } from "@isochrone/network-manager/memory";
import {
  composeServices,
  createRegistry,
  loadSettings,
  systemClock,
  systemRandom,
  type Logger,
  type Part,
  type Service,
} from "@isochrone/runtime";
import { createSchedulerPlugin, streamSettings } from "@isochrone/scheduler-plugin";
import { deferred } from "../deferred.ts";
import { freePort, requireFreePorts } from "../free-port.ts";
import { PartTokens } from "../part-tokens.ts";
import { aggregatorConfig, schedulerConfig } from "../settings.ts";
import { stagesOf, type StreamSample } from "./sample.ts";

interface StreamLabOptions {
  readonly sample: StreamSample;
  /** Port of page and graph API; the extender uses the next one. 0: any free ones. */
  readonly port: number;
  readonly windowMs: number;
  readonly allowedHosts: readonly string[];
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface StreamUrls {
  readonly page: string;
  readonly extender: string;
}

const clock = systemClock;
const random = systemRandom;
const CHECK_MS = 2_000;
const START_DEADLINE_MS = 300_000;
const STOP_DEADLINE_MS = 30_000;

export class StreamLab {
  readonly urls: StreamUrls;
  readonly network: ShapedNetwork;
  readonly cluster: StreamCluster;
  readonly #store: ClusterStore;
  readonly #services: Service;

  private constructor(
    urls: StreamUrls,
    parts: Pick<StreamLab, "network" | "cluster"> & { store: ClusterStore; services: Service },
  ) {
    this.urls = urls;
    this.network = parts.network;
    this.cluster = parts.cluster;
    this.#store = parts.store;
    this.#services = parts.services;
  }

  /** Resolves when every service is up. On failure stops everything started. */
  static async start(options: StreamLabOptions): Promise<StreamLab> {
    const { sample, logger } = options;
    const urls = await chooseUrls(options.port);
    const store = createMemoryStore({ clock });
    for (const object of sample.networks) await store.create(object);
    const nodes = sample.sites.map(({ name }) => name);
    const network = new ShapedNetwork({ nodes, links: sample.links, clock });
    const bus = createMemoryBus({ clock });
    const tokens = new PartTokens();
    const cluster = deferred(
      () =>
        StreamCluster.start({
          store,
          network,
          sites: sample.sites,
          stagesOf: (job, hosts) => stagesOf(job, hosts, sample.sites),
          clock,
          random,
          logger: logger.child({ service: "cluster" }),
        }),
      (started) => started.stop(),
    );
    const services = composeServices(
      [
        { name: "network", service: { stop: () => network.close() } },
        { name: "bus", service: { stop: () => bus.close() } },
        {
          name: "aggregator",
          service: createAggregator(
            aggregatorConfig(options, portOf(urls.page), new URL(urls.extender).origin),
            {
              bus,
              store,
              clock,
              random,
              access: { gate: tokens.gate, isMetricsOpen: true },
              logger: logger.child({ service: "aggregator" }),
              registry: createRegistry(),
              page: createPage(),
            },
          ),
        },
        { name: "cluster", service: cluster },
        { name: "scheduler-plugin", service: schedulerOf(options, urls, store) },
        ...nodes.map((node) => managerOf(node, options, { network, tokens, bus, url: urls.page })),
      ],
      { logger, deadlines: { clock, startMs: START_DEADLINE_MS, stopMs: STOP_DEADLINE_MS } },
    );
    await services.start();
    return new StreamLab(urls, { network, cluster: cluster.value(), store, services });
  }

  async submit(job: KubernetesObject): Promise<void> {
    await this.#store.create(job);
  }

  async jobs(): Promise<readonly KubernetesObject[]> {
    return (await this.#store.list(KINDS.streamJob)).items;
  }

  async changeLinks(network: KubernetesObject, spec: object): Promise<void> {
    await this.#store.patch({ ...KINDS.flowNetwork, name: network.metadata.name }, { spec });
  }

  async stop(): Promise<void> {
    await this.#services.stop();
  }
}

function schedulerOf(options: StreamLabOptions, urls: StreamUrls, store: ClusterStore): Service {
  const { streams } = loadSettings([streamSettings], {
    env: options.env,
    overrides: { streams: { enabled: true, awaitRules: true } },
  });
  return createSchedulerPlugin(schedulerConfig(options, portOf(urls.extender), urls.page), {
    store,
    clock,
    random,
    streams,
    logger: options.logger.child({ service: "scheduler-plugin" }),
    registry: createRegistry(),
  });
}

interface ManagerSurroundings {
  readonly network: ShapedNetwork;
  readonly tokens: PartTokens;
  readonly bus: ReturnType<typeof createMemoryBus>;
  readonly url: string;
}

function managerOf(
  node: string,
  { logger }: StreamLabOptions,
  { network, tokens, bus, url }: ManagerSurroundings,
): Part {
  const { flows } = loadSettings([flowsSettings], {
    env: {},
    overrides: { flows: { node, mode: "route", aggregatorUrl: url, httpPort: 0 } },
  });
  const part = tokens.partOf("network-manager", node, bus);
  const kernel = new MemoryKernel({
    ways: network.ways(node),
    roots: new Map(),
    counters: () => network.counters(node),
  });
  kernel.onChange = () => network.setRules(node, kernel.own);
  const manager = createNetworkManager(
    { ...flows, checkMs: CHECK_MS },
    {
      kernel,
      clock,
      random,
      bus: part.bus,
      plans: createPlanSource({ aggregatorUrl: url, node, fetch: part.fetch }),
      lock: { hold: async () => true, release: async () => undefined },
      logger: logger.child({ service: "network-manager" }),
      registry: createRegistry(),
    },
  );
  return { name: `network manager ${node}`, service: manager };
}

async function chooseUrls(port: number): Promise<StreamUrls> {
  const page = port === 0 ? await freePort() : port;
  const extender = port === 0 ? await freePort() : port + 1;
  await requireFreePorts([page, extender]);
  return { page: `http://127.0.0.1:${page}`, extender: `http://127.0.0.1:${extender}/scheduler` };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
