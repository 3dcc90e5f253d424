// Embedded cluster of the hot-site demo: users, callers and replicas in three zones, EndpointSlices with
// hints followed as by kube-proxy, and the tested routing.
import { createAggregator } from "@isochrone/aggregator";
import { createMemoryBus } from "@isochrone/bus/memory";
import { createDispatcher, dispatcherSettings } from "@isochrone/dispatcher";
import { createPage } from "@isochrone/dashboard";
import {
  DISPATCH_ANNOTATIONS,
  KINDS,
  PLACEMENT_ENABLED,
  PLACEMENT_LABEL,
  podView,
  workloadOf,
  type ClusterStore,
} from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import {
  admittingSlices,
  defaultLinks,
  EmulatedNetwork,
  LabCluster,
  NodeView,
  ZoneUsers,
} from "@isochrone/lab";
import { createMeasuringThreads } from "@isochrone/probe";
import {
  composeServices,
  createRegistry,
  loadSettings,
  seededRandom,
  systemClock,
  systemRandom,
  type Logger,
  type Part,
  type Service,
} from "@isochrone/runtime";
import { definedOf, looseList } from "@isochrone/primitives";
import { createSchedulerPlugin, dispatchSettings } from "@isochrone/scheduler-plugin";
import { GraphClient } from "@isochrone/topology/client";
import { randomBytes } from "node:crypto";
import { deferred, type Deferred } from "../deferred.ts";
import { freePort, requireFreePorts } from "../free-port.ts";
import type { EmbeddedOptions } from "../options.ts";
import { PartTokens } from "../part-tokens.ts";
import { collectorServices, EmbeddedProbes, registryOf, type BareSurroundings } from "../services.ts";
import { aggregatorConfig, movingConfig, schedulerConfig } from "../settings.ts";
import { HorizontalPodAutoscaler } from "./horizontal-pod-autoscaler.ts";
import {
  API,
  CALM_PACE,
  HOT_ZONES,
  hotManifest,
  hotMatrix,
  hotSites,
  loadPlans,
  NAMESPACE,
  REPLICAS,
  webOf,
  type HotZone,
} from "./sample.ts";

type HotSiteOptions = Pick<EmbeddedOptions, "allowedHosts" | "env" | "logger" | "port" | "seed"> & {
  readonly zone: HotZone;
};

export interface HotSiteUrls {
  readonly page: string;
  readonly extender: string;
}

const clock = systemClock;
const random = systemRandom;
const WINDOW_MS = 8_000;
const ROUND_MS = 1_000;
const COOL_DOWN_MS = 2_000;
const START_DEADLINE_MS = 300_000;
const STOP_DEADLINE_MS = 30_000;
const READY_WITHIN_MS = 120_000;
const POLL_MS = 100;
const GRAPH_TIMEOUT_MS = 5_000;
const KEY_BYTES = 32;
const BUS = { partitions: 4, retentionRecords: 64, retentionBytes: 512 * 1024 };
const LOOPBACK = "127.0.0.1";
const MILLICORES = 1_000;
const NOT_YET = "lab.isochrone.dev/not-yet";
const NOBODY = { [NOT_YET]: "true" };
const SERVICE = { ...KINDS.service, namespace: NAMESPACE, name: API };
const DEPLOYMENT = { ...KINDS.deployment, namespace: NAMESPACE, name: API };

export interface ActStart {
  readonly annotations: Readonly<Record<string, string>>;
  readonly isNear: boolean;
  readonly isAutoscaled: boolean;
  readonly isDispatched: boolean;
}

type Dispatcher = ReturnType<typeof createDispatcher>;

interface Parts {
  readonly cluster: Deferred<LabCluster>;
  readonly dispatchers: ReadonlyMap<string, Dispatcher>;
  readonly users: Deferred<ZoneUsers>;
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly store: ClusterStore;
  readonly services: Service;
  readonly zone: HotZone;
}

export class HotSiteLab {
  readonly urls: HotSiteUrls;
  readonly #parts: Parts;
  #isAutoscaled = false;

  private constructor(urls: HotSiteUrls, parts: Parts) {
    this.urls = urls;
    this.#parts = parts;
  }

  /** Resolves when every service is up and users send. On failure stops everything. */
  static async start(options: HotSiteOptions): Promise<HotSiteLab> {
    const { logger, zone } = options;
    const urls = await chooseUrls(options.port);
    const surroundings = surroundingsOf(options);
    const { store } = surroundings;
    const sites = hotSites();
    const network = await EmulatedNetwork.start({
      nodes: sites.map(({ name }) => name),
      links: defaultLinks(sites, hotMatrix()),
      logger: logger.child({ service: "network" }),
      seed: options.seed,
    });
    const cluster = clusterOn(network, store, logger);
    const users = usersOn(network, store, options);
    const probes = new EmbeddedProbes(network, sites);
    const graphs = new GraphClient({ baseUrl: urls.page, timeoutMs: GRAPH_TIMEOUT_MS });
    const { parts: dispatching, dispatchers } = dispatchersOn(network, surroundings, graphs);
    const services = composeServices(
      [
        { name: "emulated network", service: { stop: () => network.stop() } },
        { name: "bus", service: { stop: () => surroundings.bus.close() } },
        { name: "aggregator", service: aggregatorOf(surroundings, urls, probes) },
        { name: "scheduler-plugin", service: await schedulerOf(surroundings, urls) },
        { name: "cluster", service: cluster },
        ...measuring(surroundings, probes, urls.page),
        ...collectorServices(surroundings, sites, urls.page, () => cluster.value()),
        ...dispatching,
        { name: "users", service: users },
      ],
      { logger, deadlines: { clock, startMs: START_DEADLINE_MS, stopMs: STOP_DEADLINE_MS } },
    );
    await services.start();
    probes.refreshPlans();
    const autoscaler = new HorizontalPodAutoscaler({
      store,
      graphs,
      namespace: NAMESPACE,
      workflow: hotManifest().workflow,
      deployment: API,
      requestedMillicores: MILLICORES,
      clock,
      logger: logger.child({ service: "autoscaler" }),
    });
    return new HotSiteLab(urls, { cluster, users, dispatchers, autoscaler, store, services, zone });
  }

  setHot(isHot: boolean): void {
    this.#parts.users.value().setPace(webOf(this.#parts.zone), isHot ? 1 : CALM_PACE);
  }

  /** Restarts with new replicas and the act's routing and scaling. Rejects with the abort reason. */
  async begin(start: ActStart, signal: AbortSignal): Promise<void> {
    const { store, autoscaler, cluster, dispatchers } = this.#parts;
    if (this.#isAutoscaled) await autoscaler.stop();
    const { dispatch, replicas } = DISPATCH_ANNOTATIONS;
    await store.patch(SERVICE, {
      metadata: { annotations: { [dispatch]: null, [replicas]: null } },
      // No requests until all replicas exist: early ones would have a queue for the whole act.
      spec: { selector: NOBODY, trafficDistribution: start.isNear ? "PreferSameZone" : null },
    });
    const proxied = start.isDispatched ? dispatchers : new Map<string, Dispatcher>();
    for (const { name } of hotSites()) {
      const port = proxied.get(name)?.port ?? null;
      cluster.value().setProxy(name, API, port === null ? null : { host: LOOPBACK, port });
    }
    const labels = { [PLACEMENT_LABEL]: start.isAutoscaled ? null : PLACEMENT_ENABLED };
    await store.patch(DEPLOYMENT, { spec: { replicas: REPLICAS, template: { metadata: { labels } } } });
    const former = (await this.#replicas()).map(({ metadata }) => metadata);
    for (const { name } of former)
      await store.delete({ ...KINDS.pod, namespace: NAMESPACE, name }, { gracePeriodSeconds: 0 });
    await this.#untilReady(new Set(former.map(({ uid }) => uid)), signal);
    await store.patch(SERVICE, {
      metadata: { annotations: start.annotations },
      spec: { selector: { [NOT_YET]: null } },
    });
    await this.#untilListed(signal);
    if (start.isAutoscaled) autoscaler.start();
    this.#isAutoscaled = start.isAutoscaled;
  }

  /** Duration per request by zone, ms; null: failed. */
  async stretch(durationMs: number): Promise<ReadonlyMap<HotZone, readonly (number | null)[]>> {
    const found = await this.#parts.users.value().stretch(durationMs);
    return new Map(HOT_ZONES.map((zone) => [zone, found.get(webOf(zone)) ?? []]));
  }

  async replicas(): Promise<ReadonlyMap<HotZone, number>> {
    const zones = (await this.#replicas()).map((pod) => zoneOfNode(podView(pod).node));
    return new Map(HOT_ZONES.map((zone) => [zone, zones.filter((each) => each === zone).length]));
  }

  async stop(): Promise<void> {
    if (this.#isAutoscaled) await this.#parts.autoscaler.stop();
    await this.#parts.services.stop();
  }

  async #replicas() {
    const { items } = await this.#parts.store.list(KINDS.pod, { namespace: NAMESPACE });
    return items.filter((pod) => workloadOf(pod).name === API && !podView(pod).terminating);
  }

  async #untilListed(signal: AbortSignal): Promise<void> {
    const slice = { ...KINDS.endpointSlice, namespace: NAMESPACE, name: `${API}-1` };
    const untilMs = clock.monotonic() + READY_WITHIN_MS;
    while (looseList((await this.#parts.store.get(slice))?.endpoints).length < REPLICAS) {
      if (clock.monotonic() > untilMs)
        throw new Error(`${REPLICAS} endpoints must be listed within ${READY_WITHIN_MS} ms`);
      await clock.sleep(POLL_MS, signal);
    }
  }

  async #untilReady(former: ReadonlySet<string | undefined>, signal: AbortSignal): Promise<void> {
    const untilMs = clock.monotonic() + READY_WITHIN_MS;
    for (;;) {
      const pods = await this.#replicas();
      const fresh = pods.filter((pod) => podView(pod).ready && !former.has(pod.metadata.uid));
      if (fresh.length >= REPLICAS && this.#parts.users.value().isBegun) return;
      if (clock.monotonic() > untilMs)
        throw new Error(
          `${REPLICAS} replicas must be ready within ${READY_WITHIN_MS} ms, got ${fresh.length}`,
        );
      await clock.sleep(POLL_MS, signal);
    }
  }
}

function zoneOfNode(node: string | null): HotZone | null {
  const site = hotSites().find(({ name }) => name === node);
  return HOT_ZONES.find((zone) => zone === site?.zone) ?? null;
}

function surroundingsOf(options: HotSiteOptions): BareSurroundings {
  const { length: nodes } = HOT_ZONES;
  return {
    options: { ...options, nodes, requestsPerSecond: 0, windowMs: WINDOW_MS, placement: "score" },
    bus: createMemoryBus({ clock, ...BUS }),
    tokens: new PartTokens(),
    store: createMemoryStore({ clock }),
    isReal: false,
    logger: options.logger,
    pages: [],
  };
}

function clusterOn(network: EmulatedNetwork, store: ClusterStore, logger: Logger): Deferred<LabCluster> {
  const options = { store, network, sites: hotSites(), manifest: hotManifest(), clock, random };
  const how = { requestsPerSecond: 0, slices: true, logger: logger.child({ service: "cluster" }) };
  return deferred(
    (stopping) => LabCluster.start({ ...options, ...how }, stopping),
    (started) => started.stop(),
  );
}

function usersOn(
  network: EmulatedNetwork,
  store: ClusterStore,
  { zone, seed, logger }: HotSiteOptions,
): Deferred<ZoneUsers> {
  const plans = loadPlans(zone, seededRandom(seed));
  const around = { store, network, clock, random, logger: logger.child({ service: "users" }) };
  return deferred(
    () => Promise.resolve(new ZoneUsers({ ...around, plans })),
    (started) => started.stop(),
  );
}

function dispatchersOn(
  network: EmulatedNetwork,
  { options, store, logger }: BareSurroundings,
  graphs: GraphClient,
): { readonly parts: readonly Part[]; readonly dispatchers: ReadonlyMap<string, Dispatcher> } {
  const sites = hotSites();
  const zoneOf = (node: string): string => sites.find(({ name }) => name === node)?.zone ?? "";
  const dispatchers = new Map<string, Dispatcher>();
  const parts = sites.flatMap(({ name: node }): Part[] => {
    const view = createMemoryStore({ clock });
    const around = { clock, random, logger: logger.child({ service: "dispatcher", node }) };
    const { dispatcher: config } = loadSettings([dispatcherSettings], {
      env: options.env,
      overrides: { dispatcher: { node, host: LOOPBACK, port: 0, httpPort: 0 } },
    });
    const dispatcher = createDispatcher(
      { ...config, refreshMs: ROUND_MS },
      {
        ...around,
        store: view,
        graphs: { cluster: async (signal) => (await graphs.cluster(signal)).value },
        registry: createRegistry(),
      },
    );
    dispatchers.set(node, dispatcher);
    return [
      { name: `view of ${node}`, service: new NodeView({ ...around, node, store, view, network, zoneOf }) },
      { name: `dispatcher ${node}`, service: dispatcher },
    ];
  });
  return { parts, dispatchers };
}

function measuring(surroundings: BareSurroundings, probes: EmbeddedProbes, aggregatorUrl: string): Part[] {
  const logger = surroundings.logger.child({ service: "measuring" });
  const thread = createMeasuringThreads({ clock, logger });
  const hmacKeys = `1:${randomBytes(KEY_BYTES).toString("base64")}`;
  return [
    { name: "measuring thread", service: { stop: () => thread.close() } },
    ...probes.services(surroundings, thread, hmacKeys, aggregatorUrl),
  ];
}

function aggregatorOf(surroundings: BareSurroundings, urls: HotSiteUrls, addresses: EmbeddedProbes): Service {
  const { options, bus, store, tokens, logger } = surroundings;
  return createAggregator(aggregatorConfig(options, portOf(urls.page), new URL(urls.extender).origin), {
    bus,
    store,
    clock,
    random,
    access: { gate: tokens.gate, isMetricsOpen: true },
    logger: logger.child({ service: "aggregator" }),
    registry: registryOf(surroundings, "aggregator", "aggregator"),
    addresses,
    page: createPage(),
  });
}

async function schedulerOf(
  { options, store, logger }: BareSurroundings,
  urls: HotSiteUrls,
): Promise<Service> {
  const { webhook, planner } = movingConfig(options, false, await freePort());
  const { dispatch } = loadSettings([dispatchSettings], {
    env: options.env,
    overrides: { dispatch: { levers: ["hints", "replicas", "scale", "deletion-cost"] } },
  });
  return createSchedulerPlugin(schedulerConfig(options, portOf(urls.extender), urls.page), {
    store: admittingSlices(store, { random, logger: logger.child({ service: "cluster" }) }),
    clock,
    random,
    ...definedOf({ webhook, planner }),
    dispatch: { ...dispatch, roundMs: ROUND_MS, coolDownMs: COOL_DOWN_MS },
    logger: logger.child({ service: "scheduler-plugin" }),
    registry: createRegistry(),
  });
}

async function chooseUrls(port: number): Promise<HotSiteUrls> {
  const page = port === 0 ? await freePort() : port;
  const extender = port === 0 ? await freePort() : port + 1;
  await requireFreePorts([page, extender]);
  return { page: `http://127.0.0.1:${page}`, extender: `http://127.0.0.1:${extender}/scheduler` };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
