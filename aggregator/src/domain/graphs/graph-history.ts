// The graphs of the last hour, thinned out: every graph is some hundred bytes per link as objects, and 56
// bytes here.
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

/** Graphs of former moments are no closer together, ms. */
export const HISTORY_GAP_MS = 10_000;

/** How much is kept. */
interface GraphHistoryOptions {
  /** How far back, ms. */
  readonly horizonMs: number;
  /** Graphs closer together than this are not kept, ms. */
  readonly minGapMs: number;
  /** What links, nodes and workflows may take, roughly; what is kept is thinned out to stay below. */
  readonly maxBytes: number;
}

/** Of the strings and numbers of a node, workload or channel as an object; links are columns. */
const OBJECT_BYTES = 400;
/** Of a pod's place, beside its names, which the live graph has too. */
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

/** Graphs of former moments. */
export class GraphHistory {
  readonly #options: GraphHistoryOptions;
  /** Oldest first. */
  readonly #frames: Frame[] = [];
  #bytes = 0;

  constructor(options: GraphHistoryOptions) {
    this.#options = options;
  }

  get keptSeconds(): number {
    return this.#options.horizonMs / 1000;
  }

  /** Moments that are kept, oldest first. */
  times(): string[] {
    return this.#frames.map(({ cluster }) => cluster.observedAt);
  }

  /** Keeps those graphs, unless they are too close to the ones before. */
  keep(graphs: PublishedGraphs): void {
    const { horizonMs, minGapMs, maxBytes } = this.#options;
    // The clock was set back: those of a time to come would stand beside it, and keep others out.
    while ((this.#frames.at(-1)?.atMs ?? -Infinity) > graphs.builtAtMs) this.#drop(this.#frames.length - 1);
    const last = this.#frames.at(-1);
    if (horizonMs === 0 || (last !== undefined && graphs.builtAtMs - last.atMs < minGapMs)) return;
    const frame = frameOf(graphs, last ?? null);
    this.#frames.push(frame);
    this.#bytes += frame.bytes;
    while (this.#frames[0]!.atMs < frame.atMs - horizonMs) this.#drop(0);
    while (this.#bytes > maxBytes && this.#frames.length > 2) this.#drop(this.#mostSuperfluous());
  }

  /**
   * The graphs of that moment: the newest that are not younger. Throws an AggregatorError where nothing is
   * kept of then.
   */
  at(ms: number): PublishedGraphs {
    const frame = this.#frames.findLast(({ atMs }) => atMs <= ms);
    if (frame === undefined)
      throw new AggregatorError("not_kept", `no graph is stored for ${new Date(ms).toISOString()}`);
    return new PastGraphs(frame);
  }

  /** How the pair was. */
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

  /**
   * The frame whose neighbours are closest together: without it the largest gap grows least. Never an end.
   */
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

/** Most pods are where they were a minute ago: their list is kept once for all graphs. */
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
