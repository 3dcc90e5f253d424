// The embedded cluster: emulated network, cluster stand-in, and all services, started in order and stopped in reverse.
import { createMemoryBus } from "@isochrone/bus/memory";
import { KINDS, type ClusterStore } from "@isochrone/kubernetes";
import {
  createLabControl,
  EmulatedNetwork,
  LabCluster,
  loadManifest,
  newControlToken,
  SAMPLE_MANIFEST,
  storeControlToken,
  type ExtenderConfig,
  type Move,
  type WorkflowManifest,
} from "@isochrone/lab";
import { createMeasuringThread } from "@isochrone/probe";
import {
  composeServices,
  createRegistry,
  systemClock,
  systemRandom,
  type NamedService,
  type Service,
} from "@isochrone/runtime";
import { GraphClient } from "@isochrone/topology/client";
import { randomBytes } from "node:crypto";
import { PartTokens } from "./part-tokens.ts";
import { freePort, requireFreePorts } from "./free-port.ts";
import { openGround, type Ground } from "./ground.ts";
import type { EmbeddedOptions, EmbeddedUrls } from "./options.ts";
import {
  aggregatorOf,
  collectorServices,
  EmbeddedProbes,
  schedulerOf,
  type Surroundings,
} from "./services.ts";

const KEY_BYTES = 32;
const GRAPH_TIMEOUT_MS = 5_000;
/** One consumer reads everything at once; what it has read needs no keeping. */
const BUS = { partitions: 4, retentionRecords: 64, retentionBytes: 512 * 1024 };
/** For each service. A real API server may be slow, and has to be told of every object of the workflow. */
const START_DEADLINE_MS = 120_000;
const STOP_DEADLINE_MS = 30_000;
const EXTENDER_WEIGHT = 5;
const RECEIVERS_REPORT_MS = 30_000;
/** A new pod takes a second, and a minute on a machine that has other things to do. */
const READY_WITHIN_MS = 120_000;

export class Embedded {
  readonly urls: EmbeddedUrls;
  readonly network: EmulatedNetwork;
  readonly cluster: LabCluster;
  readonly graphs: GraphClient;
  readonly #services: Service;

  private constructor(urls: EmbeddedUrls, network: EmulatedNetwork, cluster: LabCluster, services: Service) {
    this.urls = urls;
    this.network = network;
    this.cluster = cluster;
    this.graphs = new GraphClient({ baseUrl: urls.page, timeoutMs: GRAPH_TIMEOUT_MS });
    this.#services = services;
  }

  /**
   * Resolves when every service is up; pods may still be starting. On failure, or when aborted, everything that was started is stopped again.
   */
  static async start(options: EmbeddedOptions, signal: AbortSignal): Promise<Embedded> {
    // What a user gave is read first: a mistake in it should cost no start.
    const manifest = await loadManifest(options.manifest ?? SAMPLE_MANIFEST);
    const urls = await chooseUrls(options.port);
    const ground = await openGround(options);
    try {
      const network = await startNetwork(ground, options);
      try {
        return await Embedded.#startOn(ground, network, manifest, { ...options, urls, signal });
      } catch (error) {
        await network.stop();
        throw error;
      }
    } catch (error) {
      await ground.close();
      throw error;
    }
  }

  static async #startOn(
    ground: Ground,
    network: EmulatedNetwork,
    manifest: WorkflowManifest,
    options: EmbeddedOptions & { readonly urls: EmbeddedUrls; readonly signal: AbortSignal },
  ): Promise<Embedded> {
    const { store, sites: seats, isReal } = ground;
    const { urls, signal } = options;
    const bus = createMemoryBus({ clock: systemClock, ...BUS });
    const { logger } = options;
    const tokens = new PartTokens();
    const surroundings: Surroundings = { options, bus, tokens, store, isReal, logger, pages: [] };
    const probes = new EmbeddedProbes(network, seats);
    const startCluster = (stopping: AbortSignal): Promise<LabCluster> =>
      LabCluster.start({ ...clusterOptions(options, ground, urls), network, manifest }, stopping);
    const cluster = deferred(startCluster, (started) => started.stop());
    const services = composeServices(
      [
        { name: "ground", service: { start: async () => undefined, stop: () => ground.close() } },
        { name: "emulated network", service: { start: async () => undefined, stop: () => network.stop() } },
        { name: "bus", service: { start: async () => undefined, stop: () => bus.close() } },
        {
          name: "aggregator",
          service: aggregatorOf(surroundings, portOf(urls.page), probes, new URL(urls.extender).origin),
        },
        { name: "scheduler-plugin", service: schedulerOf(surroundings, portOf(urls.extender), urls.page) },
        // Before the probes: it registers the nodes that their plans are made for.
        { name: "cluster", service: cluster },
        ...measuring(surroundings, probes, urls.page),
        ...collectorServices(surroundings, seats, urls.page, () => cluster.value()),
        { name: "lab control", service: labControl(surroundings, network, cluster, portOf(urls.lab)) },
      ],
      {
        clock: systemClock,
        logger: options.logger,
        startDeadlineMs: START_DEADLINE_MS,
        stopDeadlineMs: STOP_DEADLINE_MS,
      },
    );
    await startUnlessAborted(services, signal);
    probes.refreshPlans();
    return new Embedded(urls, network, cluster.value(), services);
  }

  /** Has the scheduler ask the extender from now on, and places every pod of the workflow anew. */
  async placeByScore(signal: AbortSignal): Promise<readonly Move[]> {
    this.cluster.setExtender(extenderOf(this.urls));
    return this.cluster.rePlace({ signal, podTimeoutMs: READY_WITHIN_MS });
  }

  async stop(): Promise<void> {
    await this.#services.stop();
  }
}

interface Deferred<T> extends Service {
  /** Throws before the start. */
  value(): T;
}

async function startUnlessAborted(services: Service, signal: AbortSignal): Promise<void> {
  const stops: Promise<void>[] = [];
  const stop = (): void => void stops.push(services.stop());
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    await services.start();
  } finally {
    signal.removeEventListener("abort", stop);
    await Promise.all(stops);
  }
  signal.throwIfAborted();
}

/** A service that comes into being by starting. One that is stopped before has its start aborted, and ends what still comes of it. */
function deferred<T>(
  create: (stopping: AbortSignal) => Promise<T>,
  end: (value: T) => Promise<void>,
): Deferred<T> {
  const stopping = new AbortController();
  let creating: Promise<T> | undefined;
  let value: T | undefined;
  return {
    async start() {
      creating = create(stopping.signal);
      value = await creating;
    },
    async stop() {
      stopping.abort();
      const created = await creating?.catch(() => undefined);
      if (created !== undefined) await end(created);
    },
    value() {
      if (value === undefined) throw new Error("the cluster must be started first");
      return value;
    },
  };
}

async function startNetwork(
  { sites, links }: Ground,
  { seed, logger }: EmbeddedOptions,
): Promise<EmulatedNetwork> {
  return EmulatedNetwork.start({
    nodes: sites.map(({ name }) => name),
    links,
    logger: logger.child({ service: "network" }),
    seed,
  });
}

function clusterOptions(
  { requestsPerSecond, placement, logger }: EmbeddedOptions,
  { store, sites, isReal }: Ground,
  urls: EmbeddedUrls,
) {
  return {
    store,
    sites,
    controlPlane: isReal ? ("real" as const) : ("stand-in" as const),
    requestsPerSecond,
    placement,
    // A spread start is what a scheduler without knowledge of the network may choose: it has no extender yet.
    ...(placement === "score" ? { extender: extenderOf(urls) } : {}),
    clock: systemClock,
    random: systemRandom,
    logger: logger.child({ service: "cluster" }),
  };
}

/** As kube-scheduler's configuration would have it: names only, its weight above the in-tree scores, and scheduling goes on without it. */
function extenderOf(urls: EmbeddedUrls): ExtenderConfig {
  return {
    urlPrefix: urls.extender,
    filterVerb: "filter",
    prioritizeVerb: "prioritize",
    weight: EXTENDER_WEIGHT,
    nodeCacheCapable: true,
    ignorable: true,
  };
}

function measuring(
  surroundings: Surroundings,
  probes: EmbeddedProbes,
  aggregatorUrl: string,
): NamedService[] {
  const hmacKeys = `1:${randomBytes(KEY_BYTES).toString("base64")}`;
  const thread = createMeasuringThread({
    clock: systemClock,
    logger: surroundings.logger.child({ service: "measuring" }),
  });
  return [
    { name: "measuring thread", service: { start: async () => undefined, stop: () => thread.close() } },
    ...probes.services(surroundings, thread, hmacKeys, aggregatorUrl),
  ];
}

function labControl(
  { options, store, isReal, logger, pages }: Surroundings,
  network: EmulatedNetwork,
  cluster: Deferred<LabCluster>,
  port: number,
): Service {
  const report = {
    receiverCounts: async () => ({ channels: await cluster.value().receiverCounts() }),
    endToEnd: () => cluster.value().endToEnd({ lastMs: RECEIVERS_REPORT_MS }),
    processes: () => ({ relayPid: network.relayPid, pids: [...cluster.value().processes().values()] }),
    ...(isReal ? {} : { objects: () => objectsOf(store) }),
  };
  const { allowedHosts, env } = options;
  return deferred(
    async () => {
      const token = newControlToken();
      const control = await createLabControl({
        network,
        cluster: report,
        pages,
        token,
        allowedHosts: { hosts: allowedHosts, setting: "--allow-host" },
        logger,
        registry: createRegistry(),
      });
      const { port: bound } = await control.start(port);
      try {
        return { control, stored: await storeControlToken(bound, token, env) };
      } catch (error) {
        await control.stop();
        throw error;
      }
    },
    async ({ control, stored }) => {
      await stored.remove();
      await control.stop();
    },
  );
}

/** What a dump has of a cluster; the stand-in has nothing else. */
const DUMPED = [
  KINDS.node,
  KINDS.deployment,
  KINDS.replicaSet,
  KINDS.pod,
  KINDS.service,
  KINDS.appGroup,
] as const;

/** As `kubectl get -A -o json` prints them. */
async function objectsOf(store: ClusterStore): Promise<object> {
  const lists = await Promise.all(
    DUMPED.map(async (kind) => (await store.list(kind)).items.map((object) => ({ ...kind, ...object }))),
  );
  return { apiVersion: "v1", kind: "List", items: lists.flat() };
}

async function chooseUrls(port: number): Promise<EmbeddedUrls> {
  const ports =
    port === 0 ? [await freePort(), await freePort(), await freePort()] : [port, port + 1, port + 2];
  await requireFreePorts(ports);
  const [page, extender, lab] = ports.map((each) => `http://127.0.0.1:${each}`) as [string, string, string];
  return { page, extender: `${extender}/scheduler`, lab };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
