// Compact graphs of the last hour: 56 bytes per link instead of several hundred as objects.
import type {
  ClusterGraphSnapshot,
  ClusterNode,
  Demand,
  LinkHistory,
  WorkflowGraphSnapshot,
} from "@isochrone/topology";
import type { Coordinates } from "../../coordinates/domain/coordinates.ts";
import type { WindowName } from "../windows/window-shape.ts";
import { AggregatorError } from "../../ports/errors.ts";
import type { PublishedGraphs } from "./graph-keeper.ts";
import { FIGURE_BYTES, LinkColumns } from "./link-columns.ts";

export const HISTORY_GAP_MS = 10_000;

interface GraphHistoryOptions {
  readonly horizonMs: number;
  /** Minimum distance between retained graphs, ms. */
  readonly minGapMs: number;
  /** Approximate memory limit. Above it the history is thinned out. */
  readonly maxBytes: number;
}

const OBJECT_BYTES = 400;
/** Approximate size of a pod's placement. Names are shared with the live graph. */
const POD_BYTES = 48;

interface Frame {
  readonly atMs: number;
  readonly version: number;
  readonly cluster: Omit<ClusterGraphSnapshot, "links">;
  readonly links: LinkColumns;
  readonly coordinates: Coordinates | null;
  readonly workflows: ReadonlyMap<string, WorkflowGraphSnapshot>;
  readonly demand: Demand;
  readonly bytes: number;
}

export class GraphHistory {
  readonly #options: GraphHistoryOptions;
  readonly #frames: Frame[] = [];
  #bytes = 0;

  constructor(options: GraphHistoryOptions) {
    this.#options = options;
  }

  get keptSeconds(): number {
    return this.#options.horizonMs / 1000;
  }

  times(): string[] {
    return this.#frames.map(({ cluster }) => cluster.observedAt);
  }

  keep(graphs: PublishedGraphs): void {
    const { horizonMs, minGapMs, maxBytes } = this.#options;
    // Drop frames in the future after the clock was set back.
    while ((this.#frames.at(-1)?.atMs ?? -Infinity) > graphs.builtAtMs) this.#drop(this.#frames.length - 1);
    const last = this.#frames.at(-1);
    if (horizonMs === 0 || (last !== undefined && graphs.builtAtMs - last.atMs < minGapMs)) return;
    const frame = frameOf(graphs, last ?? null);
    this.#frames.push(frame);
    this.#bytes += frame.bytes;
    while (this.#frames[0]!.atMs < frame.atMs - horizonMs) this.#drop(0);
    while (this.#bytes > maxBytes && this.#frames.length > 2) this.#drop(this.#mostSuperfluous());
  }

  /** The newest graphs that are not younger than `ms`. Throws an AggregatorError if there are none. */
  at(ms: number): PublishedGraphs {
    const frame = this.#frames.findLast(({ atMs }) => atMs <= ms);
    if (frame === undefined)
      throw new AggregatorError("not_kept", `no graph is stored for ${new Date(ms).toISOString()}`);
    return new PastGraphs(frame);
  }

  link(source: string, target: string, methods: readonly string[]): LinkHistory {
    const newest = this.#frames.at(-1);
    const method =
      newest === undefined
        ? null
        : (methods.find((each) => newest.links.indexOf(source, target, each) >= 0) ?? null);
    const points =
      method === null ? [] : this.#frames.flatMap((frame) => pointOf(frame, source, target, method));
    return { source, target, method, points };
  }

  /** Index of the frame whose removal leaves the smallest gap. Never the first or last. */
  #mostSuperfluous(): number {
    let best = 1;
    let least = Number.POSITIVE_INFINITY;
    for (let index = 1; index < this.#frames.length - 1; index++) {
      const gap = this.#frames[index + 1]!.atMs - this.#frames[index - 1]!.atMs;
      if (gap < least) [best, least] = [index, gap];
    }
    return best;
  }

  #drop(index: number): void {
    const [frame] = this.#frames.splice(index, 1);
    this.#bytes -= frame!.bytes;
  }
}

function frameOf(graphs: PublishedGraphs, before: Frame | null): Frame {
  const { links, ...cluster } = graphs.cluster("full");
  const columns = LinkColumns.of(links, before?.links ?? null);
  const workflows = new Map<string, WorkflowGraphSnapshot>();
  let objects = cluster.nodes.length;
  let pods = 0;
  const demand = graphs.demand("full");
  for (const { zones } of demand.services) objects += 1 + zones.length;
  for (const [key, graph] of graphs.workflows("full")) {
    const { kept, newPods } = withSharedPods(graph, before?.workflows.get(key));
    workflows.set(key, kept);
    objects += graph.workloads.length + graph.channels.length;
    pods += newPods;
  }
  return {
    atMs: graphs.builtAtMs,
    version: graphs.version,
    cluster,
    links: columns,
    coordinates: graphs.coordinates,
    workflows,
    demand,
    bytes: links.length * FIGURE_BYTES + objects * OBJECT_BYTES + pods * POD_BYTES,
  };
}

type Pods = WorkflowGraphSnapshot["workloads"][number]["pods"];

/** Shares pod lists between consecutive graphs, because most pods do not move. */
function withSharedPods(
  graph: WorkflowGraphSnapshot,
  before: WorkflowGraphSnapshot | undefined,
): { kept: WorkflowGraphSnapshot; newPods: number } {
  const known = new Map(before?.workloads.map(({ name, pods }) => [name, pods]));
  let newPods = 0;
  const workloads = graph.workloads.map((workload) => {
    const pods = known.get(workload.name);
    if (pods !== undefined && areSame(pods, workload.pods)) return { ...workload, pods };
    newPods += workload.pods.length;
    return workload;
  });
  return { kept: { ...graph, workloads }, newPods };
}

function areSame(a: Pods, b: Pods): boolean {
  return (
    a.length === b.length &&
    a.every(({ name, node }, index) => name === b[index]!.name && node === b[index]!.node)
  );
}

function pointOf(
  { cluster, links }: Frame,
  source: string,
  target: string,
  method: string,
): LinkHistory["points"] {
  const index = links.indexOf(source, target, method);
  if (index < 0) return [];
  const { rttMs, lossRatio, costMs } = links.link(index, cluster.observedAt);
  return [
    { at: cluster.observedAt, p50Ms: rttMs.p50, p90Ms: rttMs.p90, p99Ms: rttMs.p99, lossRatio, costMs },
  ];
}

class PastGraphs implements PublishedGraphs {
  readonly version: number;
  readonly builtAtMs: number;
  readonly coordinates: Coordinates | null;
  readonly #frame: Frame;

  constructor(frame: Frame) {
    this.version = frame.version;
    this.builtAtMs = frame.atMs;
    this.coordinates = frame.coordinates;
    this.#frame = frame;
  }

  get nodes(): readonly ClusterNode[] {
    return this.#frame.cluster.nodes;
  }

  cluster(window: WindowName): ClusterGraphSnapshot {
    onlyFull(window);
    const { cluster, links } = this.#frame;
    return { ...cluster, links: links.all(cluster.observedAt) };
  }

  workflows(window: WindowName): ReadonlyMap<string, WorkflowGraphSnapshot> {
    onlyFull(window);
    return this.#frame.workflows;
  }

  demand(window: WindowName): Demand {
    onlyFull(window);
    return this.#frame.demand;
  }
}

function onlyFull(window: WindowName): void {
  if (window !== "full") throw new AggregatorError("bad_query", "at is available for the full window only");
}
