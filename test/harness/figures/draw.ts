// A small cluster drawn from a seed, with its truth, sources and faults. Times are ms of the run.
import { Draws } from "../../soak/fuzz/random.ts";

/** Longer than the window, so that figures cover a full window. */
export const RUN_MS = 330_000;
export const INTERVAL_MS = 10_000;
export const NAMESPACE = "shop";

/** A restart resets the counters right after a read; later counts are lost. */
export class Life {
  /** Negative: before the run. */
  readonly startedMs: number;
  readonly #restartDueMs: number | null;
  #restartedMs: number | null = null;

  constructor(startedMs: number, restartDueMs: number | null) {
    this.startedMs = startedMs;
    this.#restartDueMs = restartDueMs;
  }

  /** Time of the last restart. Null: none. Called on each read of its counters. */
  restartedMs(nowMs: number): number | null {
    if (this.#restartDueMs !== null && nowMs >= this.#restartDueMs) this.#restartedMs ??= nowMs;
    return this.#restartedMs;
  }

  /** Start of the current counters. */
  bornMs(nowMs: number): number {
    const restartedMs = this.restartedMs(nowMs);
    return restartedMs !== null && nowMs > restartedMs ? restartedMs : this.startedMs;
  }
}

export interface ContainerDraw {
  readonly name: string;
  readonly life: Life;
  readonly cores: number;
  readonly memoryBytes: number;
}

export interface PodDraw {
  readonly name: string;
  readonly workload: string;
  readonly node: NodeDraw;
  readonly ip: string;
  readonly containers: readonly ContainerDraw[];
  readonly proxy: Life;
}

/** Usage sources of a node and its pods. */
export const USAGE_SOURCES = [
  "cadvisor",
  "cadvisor_cores",
  "cadvisor_otel",
  "cadvisor_without_pods",
  "cadvisor_standalone",
  "resource",
  "kubeletstats_containers",
  "kubeletstats_pods",
  "node_exporter",
] as const;
type UsageSource = (typeof USAGE_SOURCES)[number];

/** Start times of counters as given by a Prometheus receiver; delta: it sends differences instead. */
const OTEL_STARTS = ["first_seen", "first_seen", "none", "delta"] as const;

export interface NodeDraw {
  readonly name: string;
  readonly zone: string;
  readonly systemCores: number;
  readonly systemMemoryBytes: number;
  readonly receiveBytesPerSecond: number;
  readonly transmitBytesPerSecond: number;
  readonly usage: UsageSource;
  readonly reader: "collector" | "otel";
  readonly otelStarts: (typeof OTEL_STARTS)[number];
  /** Restart of the reader, which loses its state. */
  readonly readerRestartMs: number | null;
  /** Interval without delivery. Records arrive later. */
  readonly outageMs: readonly [number, number] | null;
  /** Every record arrives twice. */
  readonly isDoubled: boolean;
  readonly agent: Life;
}

const MESHES = ["istio", "istio_without_sizes", "ztunnel", "waypoint", "linkerd"] as const;
const AGENTS = ["coroot", "obi", "netobserv", "retina"] as const;
const GRAPHS = ["service_graph", "hubble"] as const;
export const CHANNEL_SOURCES = [...MESHES, ...AGENTS, ...GRAPHS];
export type ChannelSource = (typeof CHANNEL_SOURCES)[number];

export interface ChannelDraw {
  readonly source: string;
  readonly target: string;
  readonly requestsPerSecond: number;
  readonly failure: "http" | "grpc";
  readonly failedShare: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  /** Shares of responses by the buckets of LATENCY_BOUNDS. */
  readonly latencyShares: readonly number[];
  readonly sources: readonly ChannelSource[];
  /** Ends at which Istio's sidecars or NetObserv count. */
  readonly ends: "both" | "source" | "target";
  /** One packet of this many is sampled, for sampling sources. */
  readonly sampling: number;
}

/** Calls through sidecars whose far end is outside this cluster: bytes and requests with the outside. */
interface OutsideCall {
  readonly call: ChannelDraw;
  readonly farEnd: "other_cluster" | "unknown";
  readonly direction: "out" | "in";
}

/** Rows that produce no figure, by the reason under which they must be counted. */
export const STRAYS = ["unattributed", "unknown_pod", "sampling_unset"] as const;

export interface Draw {
  readonly seed: number;
  readonly cluster: string;
  readonly other: Draw | null;
  readonly clusterNames: readonly string[];
  readonly outsideCalls: readonly OutsideCall[];
  /** Istio names workloads by the label that users may set instead of their own names. */
  readonly isRenamed: boolean;
  readonly nodes: readonly NodeDraw[];
  readonly pods: readonly PodDraw[];
  readonly channels: readonly ChannelDraw[];
  readonly strays: readonly (typeof STRAYS)[number][];
  readonly single: Life;
  readonly isOpenMetrics: boolean;
  /** Pages contain their process' start time. */
  readonly tellsStart: boolean;
  /** Maximum age of cAdvisor's row timestamps relative to the page. 0: no timestamps. */
  readonly rowAgeMs: number;
}

/** Milliseconds. */
export const LATENCY_BOUNDS = [5, 10, 25, 50, 100] as const;

export function istioName({ isRenamed }: Draw, workload: string): string {
  return isRenamed ? `${workload}-mesh` : workload;
}

/** Istio's default cluster name. */
export const UNNAMED_CLUSTER = "Kubernetes";
export const OTHER_CLUSTER = "there";

interface Naming {
  readonly cluster: string;
  readonly nodes: string;
  readonly pods: string;
  readonly isByOtel: boolean;
}

const ALONE: Naming = { cluster: UNNAMED_CLUSTER, nodes: "n", pods: "abc", isByOtel: false };

export function drawOf(seed: number): Draw {
  const draws = new Draws("figures", seed);
  const clusters = draws.pick(["one", "one", "configured", "detected"]);
  if (clusters === "one") return clusterOf(draws, seed, ALONE);
  const isDetected = clusters === "detected";
  // Detection of the name needs senders that name the cluster, and nodes and pods that exist only here.
  const own = clusterOf(draws, seed, { ...ALONE, cluster: "here", isByOtel: isDetected });
  const names = isDetected ? { nodes: "x", pods: "xyz" } : {};
  const other = clusterOf(draws, seed, { ...ALONE, ...names, cluster: OTHER_CLUSTER, isByOtel: true });
  return { ...own, clusterNames: isDetected ? [] : [own.cluster], other: { ...other, strays: [] } };
}

function clusterOf(draws: Draws, seed: number, naming: Naming): Draw {
  const nodes = [1, 2, 3].slice(0, 1 + draws.below(3)).map((number) => nodeOf(draws, number, naming));
  const workloads = ["web", "cart", "stock", "mail", "bank"].slice(0, 2 + draws.below(4));
  const pods = workloads.flatMap((workload) =>
    Array.from({ length: 1 + draws.below(3) }, (_, at) =>
      podOf(draws, workload, naming.pods[at]!, draws.pick(nodes)),
    ),
  );
  // Channels go one way, so that responses counted by one-way agents can't be another channel's requests.
  const pairs = workloads.flatMap((source, at) =>
    workloads.slice(at + 1).map((target) => ({ source, target })),
  );
  const channels = pairs
    .filter((_, at) => at === 0 || draws.chance(0.5))
    .map((pair) => channelOf(draws, pair.source, pair.target));
  // With a waypoint, calls counted at one end only may be hops to or from it and are not shown.
  const hasWaypoint = channels.some(({ sources }) => sources.includes("waypoint"));
  const caller = draws.pick(workloads);
  const farEnds =
    naming.cluster === UNNAMED_CLUSTER ? (["unknown"] as const) : (["other_cluster", "unknown"] as const);
  return {
    seed,
    cluster: naming.cluster,
    other: null,
    clusterNames: [],
    outsideCalls: farEnds
      .filter(() => draws.chance(0.5))
      .map((farEnd) => outsideCallOf(draws, farEnd, caller, draws.pick(workloads))),
    nodes,
    pods: pods.map((pod, at) => ({ ...pod, ip: `10.1.0.${at + 1}` })),
    channels: channels.map((channel) => (hasWaypoint ? { ...channel, ends: "both" } : channel)),
    strays: STRAYS.filter(() => draws.chance(0.3)),
    isRenamed: draws.chance(0.2),
    single: lifeOf(draws),
    isOpenMetrics: draws.chance(0.3),
    tellsStart: draws.chance(0.5),
    rowAgeMs: draws.pick([0, 0, 1_000, 8_000]),
  };
}

function between(draws: Draws, low: number, high: number): number {
  return low + draws.below(high - low + 1);
}

function lifeOf(draws: Draws): Life {
  const restartDueMs = draws.chance(0.3) ? between(draws, 140_000, 190_000) : null;
  return new Life(-between(draws, 60_000, 90_000_000), restartDueMs);
}

/** Restarts before or after others, because a counter that restarts without a reader loses its counts. */
function readerRestart(draws: Draws): number | null {
  return draws.chance(0.4) ? draws.pick([60_000, 250_000]) + between(draws, 0, 30_000) : null;
}

function outsideCallOf(draws: Draws, farEnd: OutsideCall["farEnd"], near: string, far: string): OutsideCall {
  const direction = draws.pick(["out", "in"] as const);
  const call = direction === "out" ? channelOf(draws, near, far) : channelOf(draws, far, near);
  return { call, farEnd, direction };
}

function nodeOf(draws: Draws, number: number, { nodes, isByOtel }: Naming): NodeDraw {
  const outageBeganMs = between(draws, 60_000, 200_000);
  const otelStarts = draws.pick(OTEL_STARTS);
  return {
    name: `${nodes}${number}`,
    zone: draws.pick(["west", "east"]),
    systemCores: between(draws, 10, 200) / 100,
    systemMemoryBytes: between(draws, 1, 40) * 100_000_000,
    receiveBytesPerSecond: between(draws, 1_000, 50_000_000),
    transmitBytesPerSecond: between(draws, 1_000, 50_000_000),
    usage: isByOtel ? "cadvisor_otel" : draws.pick(USAGE_SOURCES),
    reader: isByOtel || draws.chance(0.3) ? "otel" : "collector",
    otelStarts,
    // A sender of differences loses one on a restart.
    readerRestartMs: otelStarts === "delta" ? null : readerRestart(draws),
    outageMs: draws.chance(0.2) ? [outageBeganMs, outageBeganMs + between(draws, 3_000, 40_000)] : null,
    isDoubled: draws.chance(0.2),
    agent: lifeOf(draws),
  };
}

function podOf(draws: Draws, workload: string, letter: string, node: NodeDraw): PodDraw {
  return {
    name: `${workload}-5bc845f79c-${letter}`,
    workload,
    node,
    ip: "",
    containers: ["app", "helper"].slice(0, 1 + draws.below(2)).map((name) => ({
      name,
      life: lifeOf(draws),
      cores: between(draws, 1, 300) / 100,
      memoryBytes: between(draws, 10, 900) * 1_000_000,
    })),
    proxy: lifeOf(draws),
  };
}

function channelOf(draws: Draws, source: string, target: string): ChannelDraw {
  const mesh = draws.chance(0.6) ? [draws.pick(MESHES)] : [];
  const agents = draws.chance(0.6) ? [draws.pick(AGENTS)] : [];
  const graphs = draws.chance(0.4) || mesh.length + agents.length === 0 ? [draws.pick(GRAPHS)] : [];
  const shares = LATENCY_BOUNDS.map(() => between(draws, 1, 10));
  const sum = shares.reduce((total, share) => total + share, 0);
  return {
    source,
    target,
    requestsPerSecond: between(draws, 300, 5_000),
    failure:
      mesh.some((name) => name !== "linkerd" && name !== "ztunnel") && draws.chance(0.3) ? "grpc" : "http",
    failedShare: draws.chance(0.5) ? 0 : between(draws, 10, 60) / 100,
    requestBytes: between(draws, 100, 20_000),
    responseBytes: between(draws, 100, 20_000),
    latencyShares: shares.map((share) => share / sum),
    sources: [...mesh, ...agents, ...graphs],
    ends: draws.pick(["both", "source", "target"]),
    sampling: draws.pick([1, 50]),
  };
}
