// The embedded cluster: emulated network, cluster stand-in and all services, started in order and stopped in
// reverse.
import { createMemoryBus } from "@isochrone/bus/memory";
import type { ClusterStore } from "@isochrone/kubernetes";
import {
  EmulatedNetwork,
  LabCluster,
  LabTimeline,
  loadManifest,
  newControlToken,
  RelayKeeper,
  SAMPLE_MANIFEST,
  type ExtenderConfig,
  type Move,
  type TableSites,
  type WorkflowManifest,
} from "@isochrone/lab";
import { createMeasuringThreads, type MeasuringThreads } from "@isochrone/probe";
import { composeServices, systemClock, systemRandom, type Part, type Service } from "@isochrone/runtime";
import { GraphClient } from "@isochrone/topology/client";
import { randomBytes } from "node:crypto";
import { deferred, type Deferred } from "./deferred.ts";
import { labControl } from "./lab-control.ts";
import { PartTokens } from "./part-tokens.ts";
import { freePort, requireFreePorts } from "./free-port.ts";
import { openEmbeddedCluster, type EmbeddedCluster } from "./cluster.ts";
import type { EmbeddedOptions, EmbeddedUrls } from "./options.ts";
import type { Reporter } from "../output/reporter.ts";
import { optIn, placeByPlan } from "./place-by-plan.ts";
import { PodMoves } from "./pod-moves.ts";
import {
  aggregatorOf,
  collectorServices,
  EmbeddedProbes,
  schedulerOf,
  type Surroundings,
} from "./services.ts";

const KEY_BYTES = 32;
const GRAPH_TIMEOUT_MS = 5_000;
/** One consumer reads at once, so little retention is needed. */
const BUS = { partitions: 4, retentionRecords: 64, retentionBytes: 512 * 1024 };
/** Per service. Generous: a real API server or a busy machine may be slow. */
const START_DEADLINE_MS = 900_000;
const STOP_DEADLINE_MS = 30_000;
const EXTENDER_WEIGHT = 5;
/** A new pod takes a second, or minutes on a busy machine. */
const READY_WITHIN_MS = 300_000;

export class Embedded {
  readonly urls: EmbeddedUrls;
  readonly network: EmulatedNetwork;
  readonly cluster: LabCluster;
  readonly graphs: GraphClient;
  readonly moves: Pick<PodMoves, "subscribe">;
  /** Page URL with the token of the emulator's controls; never log it. */
  readonly pageWithControls: string;
  readonly store: ClusterStore;
  /** Nodes of the given matrix; null: none given. */
  readonly table: TableSites | null;
  readonly #namespace: string;
  readonly #thread: MeasuringThreads;
  readonly #services: Service;

  private constructor(urls: EmbeddedUrls, parts: EmbeddedParts) {
    this.urls = urls;
    // In the fragment, which browsers do not send.
    this.pageWithControls = `${urls.page}/#/?emulator=${parts.token}`;
    this.network = parts.network;
    this.cluster = parts.cluster;
    this.graphs = new GraphClient({ baseUrl: urls.page, timeoutMs: GRAPH_TIMEOUT_MS });
    this.moves = parts.moves;
    this.store = parts.store;
    this.table = parts.table;
    this.#namespace = parts.namespace;
    this.#thread = parts.thread;
    this.#services = parts.services;
  }

  /** Resolves when services are up; pods may still start. On failure or abort, stops everything started. */
  static async start(
    options: EmbeddedOptions,
    signal: AbortSignal,
    progress: StartProgress = UNTOLD,
  ): Promise<Embedded> {
    // User input first: a mistake should not cost a start.
    const manifest = await loadManifest(options.manifest ?? SAMPLE_MANIFEST);
    const urls = await chooseUrls(options.port);
    const ground = await openEmbeddedCluster(options);
    try {
      tellOf(progress, "the emulated network");
      const network = await startNetwork(ground, options);
      try {
        return await Embedded.#startOn(ground, network, manifest, { ...options, urls, signal, progress });
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
    ground: EmbeddedCluster,
    network: EmulatedNetwork,
    manifest: WorkflowManifest,
    options: EmbeddedOptions & {
      readonly urls: EmbeddedUrls;
      readonly signal: AbortSignal;
      readonly progress: StartProgress;
    },
  ): Promise<Embedded> {
    const { store, sites: seats, isReal } = ground;
    const { urls, signal, progress, logger } = options;
    const bus = createMemoryBus({ clock: systemClock, ...BUS });
    const timeline = new LabTimeline({
      cluster: () => cluster.value(),
      network,
      clock: systemClock,
      logger: logger.child({ service: "lab" }),
    });
    network.onDown((reason) => timeline.networkDown(reason));
    const relay = new RelayKeeper(network, { clock: systemClock, logger: logger.child({ service: "lab" }) });
    const emulator = { network, timeline, token: newControlToken() };
    const tokens = new PartTokens();
    const surroundings: Surroundings = { options, bus, tokens, store, isReal, emulator, logger, pages: [] };
    const probes = new EmbeddedProbes(network, seats);
    const moves = new PodMoves();
    const thread = createMeasuringThreads({
      clock: systemClock,
      logger: logger.child({ service: "measuring" }),
    });
    const cluster = clusterOf({ ...clusterOptions(options, ground, urls), network, manifest });
    const services = composeServices(
      [
        { name: "ground", service: { stop: () => ground.close() } },
        { name: "emulated network", service: { stop: () => network.stop() } },
        { name: "relay", service: { stop: () => relay.stop() } },
        { name: "bus", service: { stop: () => bus.close() } },
        begins(progress, "the aggregator"),
        {
          name: "aggregator",
          service: aggregatorOf(surroundings, portOf(urls.page), probes, new URL(urls.extender).origin),
        },
        begins(progress, "the scheduler", urls.page),
        {
          name: "scheduler-plugin",
          service: schedulerOf(surroundings, {
            port: portOf(urls.extender),
            webhookPort: await freePort(),
            graphUrl: urls.page,
            onMove: (progress) => moves.take(progress),
          }),
        },
        begins(progress, "nodes and pods"),
        // Before the probes: it registers the nodes of their plans.
        { name: "cluster", service: cluster },
        { name: "timeline", service: timeline },
        begins(progress, "probes"),
        ...measuring(surroundings, probes, thread, urls.page),
        begins(progress, "collectors"),
        ...collectorServices(surroundings, seats, urls.page, () => cluster.value()),
        {
          name: "lab control",
          service: labControl(surroundings, { network, cluster, moves }, urls),
        },
      ],
      {
        logger,
        deadlines: { clock: systemClock, startMs: START_DEADLINE_MS, stopMs: STOP_DEADLINE_MS },
      },
    );
    await startUnlessAborted(services, signal);
    probes.refreshPlans();
    const { token } = emulator;
    const { network: table } = ground;
    const shown = { token, network, table, cluster: cluster.value(), moves, store, thread, services };
    return new Embedded(urls, { ...shown, namespace: manifest.namespace });
  }

  async placeByScore(signal: AbortSignal): Promise<readonly Move[]> {
    this.cluster.setExtender(extenderOf(this.urls));
    return this.cluster.rePlace({ signal, podTimeoutMs: READY_WITHIN_MS });
  }

  /** Replaces every pod of the workflow by one plan. Only without an API server. */
  async placeByPlan(signal: AbortSignal): Promise<readonly Move[]> {
    return placeByPlan({
      store: this.store,
      cluster: this.cluster,
      namespace: this.#namespace,
      clock: systemClock,
      signal,
      withinMs: READY_WITHIN_MS,
    });
  }

  /** From now on new pods wait for the planner, and pods may be moved, by hand or by the descheduler. */
  async startMoving(): Promise<void> {
    await optIn({ store: this.store, namespace: this.#namespace }, true);
  }

  /** Divides the rates of requests, and of probes by at most MAX_PROBE_PACE. */
  setPace(factor: number): void {
    this.cluster.setPace(factor);
    this.#thread.setPace(Math.min(factor, MAX_PROBE_PACE));
  }

  async stop(): Promise<void> {
    await this.#services.stop();
  }
}

/** Fewer probes would detect a lossy link only after minutes, and save little. */
const MAX_PROBE_PACE = 2;

type StartProgress = Pick<Reporter, "startingPart" | "serving">;

const UNTOLD: StartProgress = { startingPart: () => undefined, serving: () => undefined };

const STARTED = [
  "the emulated network",
  "the aggregator",
  "the scheduler",
  "nodes and pods",
  "probes",
  "collectors",
] as const;
type StartedPart = (typeof STARTED)[number];

function begins(progress: StartProgress, part: StartedPart, page?: string): Part {
  const start = (): void => {
    if (page !== undefined) progress.serving(page);
    tellOf(progress, part);
  };
  return { name: `progress of ${part}`, service: { start } };
}

function tellOf(progress: StartProgress, part: StartedPart): void {
  progress.startingPart({ part, done: STARTED.indexOf(part), total: STARTED.length });
}

interface EmbeddedParts {
  readonly token: string;
  readonly network: EmulatedNetwork;
  readonly cluster: LabCluster;
  readonly moves: PodMoves;
  readonly store: ClusterStore;
  readonly table: TableSites | null;
  readonly namespace: string;
  readonly thread: MeasuringThreads;
  readonly services: Service;
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

async function startNetwork(
  { sites, links }: EmbeddedCluster,
  { seed, logger }: EmbeddedOptions,
): Promise<EmulatedNetwork> {
  return EmulatedNetwork.start({
    nodes: sites.map(({ name }) => name),
    links,
    logger: logger.child({ service: "network" }),
    seed,
  });
}

function clusterOf(options: Parameters<typeof LabCluster.start>[0]): Deferred<LabCluster> {
  return deferred(
    (stopping) => LabCluster.start(options, stopping),
    (started) => started.stop(),
  );
}

function clusterOptions(
  { requestsPerSecond, placement, slices = false, logger }: EmbeddedOptions,
  { store, sites, isReal }: EmbeddedCluster,
  urls: EmbeddedUrls,
) {
  return {
    store,
    sites,
    controlPlane: isReal ? ("real" as const) : ("stand-in" as const),
    requestsPerSecond,
    placement,
    slices,
    choice: "in-turn" as const,
    // A spread start has no extender: it models a scheduler without knowledge of the network.
    ...(placement === "score" ? { extender: extenderOf(urls) } : {}),
    clock: systemClock,
    random: systemRandom,
    logger: logger.child({ service: "cluster" }),
  };
}

/** Like kube-scheduler's configuration: names only, a weight above the in-tree scores, failures ignored. */
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
  thread: MeasuringThreads,
  aggregatorUrl: string,
): Part[] {
  const hmacKeys = `1:${randomBytes(KEY_BYTES).toString("base64")}`;
  return [
    { name: "measuring thread", service: { stop: () => thread.close() } },
    ...probes.services(surroundings, thread, hmacKeys, aggregatorUrl),
  ];
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
