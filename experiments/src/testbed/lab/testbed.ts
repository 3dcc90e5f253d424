import { availableParallelism, getPriority, release, setPriority } from "node:os";
import { LabCluster, readBehaviour } from "@isochrone/lab";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createLogger, seededRandom, systemClock } from "@isochrone/runtime";
import type { Logger } from "@isochrone/runtime";
import type { Observation, Placement, PodMove } from "../../contenders/port.ts";
import type { Change, LabSettings, Point } from "../../scenario/model.ts";
import { ClusterState } from "../cluster-state.ts";
import { observe } from "../observe.ts";
import type { Testbed, Running, Stretch } from "../port.ts";
import { CALL_TIMEOUT_MS, MAX_PENDING, periodMs, phasesMs, REQUEST_TIMEOUT_MS } from "../users.ts";
import { zeroLoadMs } from "../zero-load.ts";
import { BoundPods } from "./bound-pods.ts";
import { annotationsOf, manifestOf } from "./manifest.ts";
import { bestLinks, createLinks } from "./links.ts";
import type { LinkKind, Links } from "./links.ts";
import { channelKey, trafficBetween, trafficOf } from "./sidecar-traffic.ts";
import type { ChannelTotals, PodTraffic } from "./sidecar-traffic.ts";

const READY_WITHIN_MS = 60_000;
/** Precedes the first interval: first requests open connections and pay an extra round trip. */
const CONNECTING_MS = 2_000;
const CONNECTING_RESPONSES = 3;

interface LabGroundOptions {
  readonly links?: LinkKind;
  /** @default only errors, to standard error */
  readonly logger?: Logger;
}

interface Lab {
  readonly scale: number;
  readonly links: LinkKind;
  readonly logger: Logger;
}

/**
 * Runs the workflow as processes with HTTP over delayed links: one process per pod with its sidecar, one for
 * the users.
 * At scale S, the whole system runs S times slower: request rates and CPU are divided by S, round trips
 * multiplied, and measured response times divided by S again. Utilization, queues and the network's share
 * stay those of the original, while the machine does 1/S of the work per second. (With less load and CPU
 * alone, work would take S times longer and the network would not, so response times would mean nothing.)
 */
export async function createLabTestbed(
  settings: LabSettings,
  options: LabGroundOptions = {},
): Promise<Testbed> {
  const lab: Lab = {
    scale: settings.scale,
    links: options.links ?? (await bestLinks()),
    logger: options.logger ?? errorsOnly(),
  };
  const restorePriority = goFirst();
  return {
    name: "lab",
    describe: () => ({
      kind: "processes and HTTP through delayed links",
      scale: settings.scale,
      kernel: release(),
      cores: availableParallelism(),
      links: lab.links === "relay" ? "relay on loopback addresses" : "network namespaces on an emulated wire",
      cpu: "budget of each node, shared equally by its busy pods; work is burnt",
    }),
    start: (point, placement, seed, signal) => startLab(lab, point, placement, seed, signal),
    close: () => {
      restorePriority();
      return Promise.resolve();
    },
  };
}

/** Above other processes, if allowed; child processes inherit it. Delays would distort measurements. */
const NICENESS = -10;

function goFirst(): () => void {
  const before = getPriority();
  try {
    setPriority(NICENESS);
    return () => setPriority(before);
  } catch {
    return () => {};
  }
}

function errorsOnly(): Logger {
  return createLogger({ service: "lab", level: "error", format: "text", destination: process.stderr });
}

const dilated = (rttMs: readonly (readonly number[])[], scale: number): number[][] =>
  rttMs.map((row) => row.map((rtt) => rtt * scale));

async function startLab(
  { scale, links: kind, logger }: Lab,
  point: Point,
  placement: Placement,
  seed: number,
  signal: AbortSignal,
): Promise<Running> {
  const { nodes, rttMs } = point.cluster;
  const links = await createLinks({ kind, cluster: { nodes, rttMs: dilated(rttMs, scale) }, logger, seed });
  const usersAt = point.workflow.usersAt ?? links.usersPlace;
  const store = createMemoryStore({ clock: systemClock });
  const pods = new BoundPods(store);
  let cluster: LabCluster | null = null;
  try {
    await pods.createNodes(point.cluster.nodes);
    cluster = await LabCluster.start({
      store,
      network: links.network,
      sites: point.cluster.nodes,
      controlPlane: "real",
      manifest: manifestOf(point),
      clock: systemClock,
      random: seededRandom(seed),
      logger,
      cpuBudget: { slowdown: scale },
      load: {
        phasesMs: Array.from(phasesMs(point.load, seed), (phase) => phase * scale),
        periodMs: periodMs(point.load) * scale,
        timeoutMs: REQUEST_TIMEOUT_MS * scale,
        maxPending: MAX_PENDING,
      },
      pods: { callTimeoutMs: CALL_TIMEOUT_MS * scale, idleTimeoutMs: 600_000, niceness: null },
      ...(usersAt === undefined ? {} : { usersAt }),
    });
    await pods.create(point.workflow.workloads, placement);
    await cluster.waitReady(READY_WITHIN_MS, signal);
    const responseMs = zeroLoadMs(point, placement, 0) * scale;
    await systemClock.sleep(CONNECTING_MS + CONNECTING_RESPONSES * responseMs, signal);
    return new LabRun({ scale, point, signal, links, pods, cluster });
  } catch (error) {
    await cluster?.stop();
    await links.close();
    throw error;
  }
}

interface Parts {
  readonly scale: number;
  readonly point: Point;
  readonly signal: AbortSignal;
  readonly links: Links;
  readonly pods: BoundPods;
  readonly cluster: LabCluster;
}

interface Totals {
  readonly atMs: number;
  /** Keyed by lab pod. */
  readonly workedMs: ReadonlyMap<string, number>;
  readonly traffic: PodTraffic;
}

class LabRun implements Running {
  readonly #parts: Parts;
  readonly #state: ClusterState;
  readonly #timers = new Set<NodeJS.Timeout>();
  #stretchEndMs: number | null = null;
  #moving: Promise<void> = Promise.resolve();
  /** Failure between intervals; the next interval reports it. */
  #failure: Error | null = null;
  #observation: Observation | null = null;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#state = new ClusterState(parts.point.cluster);
  }

  beginChanges(): void {
    const nowMs = systemClock.monotonic();
    const fromMs = this.#stretchEndMs ?? nowMs;
    for (const change of this.#parts.point.changes) {
      const afterMs = fromMs + change.atSeconds * 1000 - nowMs;
      const timer = setTimeout(() => this.#beside(this.#change(change)), Math.max(0, afterMs));
      this.#timers.add(timer);
    }
  }

  async run(seconds: number): Promise<Stretch> {
    const { cluster, scale, signal } = this.#parts;
    const before = await this.#totals();
    this.#stretchEndMs = (this.#stretchEndMs ?? systemClock.monotonic()) + seconds * 1000;
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
    );
    signal.throwIfAborted();
    const { responseMs } = await Promise.race([cluster.stretch(seconds * 1000), aborted]);
    if (this.#failure !== null) throw this.#failure;
    const userRequestsPerSecond = (responseMs.length * scale) / seconds;
    this.#observation = this.#observe(before, await this.#totals(), userRequestsPerSecond);
    const answered = responseMs.filter((response) => response !== null);
    return {
      responseMs: Float64Array.from(answered, (response) => response / scale),
      failed: responseMs.length - answered.length,
    };
  }

  observe(): Observation {
    if (this.#observation === null) throw new Error("there is nothing to observe before the first stretch");
    return this.#observation;
  }

  move(moves: readonly PodMove[]): Promise<void> {
    const { pods, signal } = this.#parts;
    const before = this.#moving;
    this.#stretchEndMs = Math.max(this.#stretchEndMs ?? 0, systemClock.monotonic());
    this.#moving = (async () => {
      await before;
      for (const { pod, to } of moves) await pods.move(pod, to, signal);
    })();
    this.#beside(this.#moving);
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#parts.cluster.stop();
    await this.#parts.links.close();
  }

  #beside(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!this.#parts.signal.aborted) this.#failure ??= error as Error;
    });
  }

  async #change(change: Change): Promise<void> {
    const { links, cluster, scale, point } = this.#parts;
    this.#state.apply(change);
    if (change.kind === "node-down") return this.#nodeDown(change.node);
    if (change.kind === "region-latency") return links.set(dilated(this.#state.rttMs, scale));
    const { caller, callee, probability } = change;
    const workload = point.workflow.workloads.find(({ name }) => name === caller)!;
    const calls = workload.calls.map((call) => (call.callee === callee ? { ...call, probability } : call));
    const annotations = annotationsOf({ ...workload, calls }, caller === point.workflow.entry);
    cluster.setBehaviour(
      caller,
      readBehaviour(annotations, (_, message) => {
        throw new RangeError(message);
      }),
    );
  }

  /** Removes the node's pods from endpoints as a control plane does, but at once. */
  async #nodeDown(node: string): Promise<void> {
    const { cluster, pods } = this.#parts;
    const gone = cluster.pods().filter((pod) => pod.node === node);
    await cluster.killNode(node);
    for (const { name } of gone) await pods.remove(pods.nameOf(name) ?? "", { gracePeriodSeconds: 0 });
  }

  async #totals(): Promise<Totals> {
    const { cluster } = this.#parts;
    const pages = await cluster.sidecarPages();
    const traffic = new Map([...pages].map(([pod, page]) => [pod, trafficOf(page)]));
    return { atMs: systemClock.monotonic(), workedMs: cluster.workedMs(), traffic };
  }

  /** Rates in the point's time: S times the wall-clock rates. */
  #observe(before: Totals, after: Totals, userRequestsPerSecond: number): Observation {
    const { point, scale, pods } = this.#parts;
    const { workloads } = point.workflow;
    const workedMs = new Map<string, number>();
    for (const [pod, worked] of after.workedMs) {
      const workload = (pods.nameOf(pod) ?? "").replace(/-\d+$/, "");
      const since = worked - (before.workedMs.get(pod) ?? 0);
      workedMs.set(workload, (workedMs.get(workload) ?? 0) + since);
    }
    const edges = workloads.flatMap(({ name, calls }) => calls.map(({ callee }) => channelKey(name, callee)));
    const traffic = trafficBetween(before.traffic, after.traffic);
    const counted = (edge: number, field: keyof ChannelTotals): number => {
      const key = edges[edge]!;
      // Sidecars count per pair; attribute all calls of a pair to its first edge.
      if (edges.indexOf(key) < edge) return 0;
      return traffic.get(key)?.[field] ?? 0;
    };
    return observe(point.workflow, this.#state.present(), {
      seconds: (after.atMs - before.atMs) / 1000 / scale,
      userRequestsPerSecond,
      cpuSeconds: (workload) => (workedMs.get(workloads[workload]!.name) ?? 0) / 1000,
      requests: (edge) => counted(edge, "requests"),
      bytes: (edge) => counted(edge, "bytes"),
    });
  }
}
