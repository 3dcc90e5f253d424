import { allSteps, inTurns } from "@isochrone/primitives/algorithms";
import type { Distribution } from "@isochrone/telemetry";
import type {
  ClusterGraphSnapshot,
  ClusterNode,
  DeclaredCosts,
  Demand,
  Departures,
  GraphEvent,
  LinkDistributions,
  WorkflowGraphSnapshot,
} from "@isochrone/topology";
import { NO_DEPARTURES } from "../baselines/pair-baselines.ts";
import { buildClusterGraph, clusterGraphSteps } from "./cluster-graph.ts";
import type { CostRule } from "./cost-rule.ts";
import { demandSteps } from "./demand.ts";
import { DownNodes, type PodLook } from "./down-nodes.ts";
import { NO_LATENCIES_USED, withLatencies, type LatencyUse, type NodeLatency } from "./node-latencies.ts";
import { fullName, type ClusterState } from "../cluster-state.ts";
import { compareText, type LinkOrder } from "../compare.ts";
import type { Coordinates } from "../../coordinates/domain/coordinates.ts";
import type { EventHistory } from "./event-history.ts";
import { diffGraphs, type Graphs } from "./graph-diff.ts";
import { rfc3339 } from "./graph-time.ts";
import type { LinkKey, LinkState } from "../links/links.ts";
import type { Tables } from "./tables.ts";
import type { WindowName } from "../windows/window-shape.ts";
import { buildWorkflows, workflowSteps } from "./workflows.ts";

/** The graphs of one version. A window's graphs are built when they are first asked for, and then stay. */
export interface PublishedGraphs {
  readonly version: number;
  readonly builtAtMs: number;
  /** What pairs without a measured link are estimated from; null while there is nothing. */
  readonly coordinates: Coordinates | null;
  /** Those of the cluster graph, without its links. */
  readonly nodes: readonly ClusterNode[];
  cluster(window: WindowName): ClusterGraphSnapshot;
  /** By namespace/name. */
  workflows(window: WindowName): ReadonlyMap<string, WorkflowGraphSnapshot>;
  demand(window: WindowName): Demand;
}

/** Told of each new version, in order. */
type GraphListener = (event: GraphEvent) => void;

/** What a version of the graphs is built from, beside the windows. */
export interface BuildInputs {
  readonly cluster: ClusterState;
  readonly nowMs: number;
  /** Links that stay listed when they fall silent. */
  readonly isWanted: (link: LinkKey) => boolean;
  readonly coordinates: Coordinates | null;
  /**
   * Costs between areas that somebody declared; null where they are read and there are none, absent where
   * they aren't read.
   */
  readonly declaredCosts?: DeclaredCosts | null;
  /** What others measured between nodes. @default nothing */
  readonly latencies?: readonly NodeLatency[];
  /** Says which pods run; absent: nobody knows. */
  readonly look?: PodLook;
}

/** What one method measured of a pair. */
interface LinkDistribution extends Pick<LinkKey, "method" | "ipFamily"> {
  /** Seconds. */
  readonly rtt: Distribution;
}

/** Builds the graphs version by version, keeps the newest, and tells what changed. */
export class GraphKeeper {
  readonly history: EventHistory;
  readonly #tables: Tables;
  readonly #rule: CostRule;
  readonly #listeners = new Set<GraphListener>();
  readonly #downNodes = new DownNodes();
  #channelsTooFar = 0;
  #latencyUse = NO_LATENCIES_USED;
  #newest: PublishedGraphs | null = null;
  #departures: Departures = NO_DEPARTURES;
  /** The version that each workflow of the newest graphs got its present shape in. */
  readonly #changedIn = new Map<string, number>();

  constructor(tables: Tables, rule: CostRule, history: EventHistory) {
    this.#tables = tables;
    this.#rule = rule;
    this.history = history;
  }

  /** How the cluster graphs list their links. */
  get linkOrder(): LinkOrder {
    return this.#tables.linkOrder;
  }

  /**
   * Declared channels that workflows of the newest graphs are without, for the pods of others that they would
   * bring.
   */
  get channelsTooFar(): number {
    return this.#channelsTooFar;
  }

  /** What the newest cluster graph made of what others measured. */
  get latencyUse(): LatencyUse {
    return this.#latencyUse;
  }

  /** Pairs of nodes that are slower than they were, or lose more packets, as of the newest graphs. */
  get departures(): Departures {
    return this.#departures;
  }

  /** Null before the first build. */
  get newest(): PublishedGraphs | null {
    return this.#newest;
  }

  /**
   * The newest workflows that changed after that version, in order; all for null, or for a version that is
   * yet to come.
   */
  workflowsSince(version: number | null): WorkflowGraphSnapshot[] {
    const newest = this.#newest;
    if (newest === null) return [];
    const all = newest.workflows("full");
    if (version === null || version > newest.version) return [...all.values()];
    return Array.from(all)
      .filter(([name]) => this.#changedIn.get(name)! > version)
      .map(([, graph]) => graph);
  }

  /**
   * Round-trip times of one ordered pair in the window, by method, as the graph lists its links; those
   * without an answer are left out.
   */
  distributions(source: string, target: string, nowMs: number): LinkDistribution[] {
    const found: LinkDistribution[] = [];
    for (const state of this.#linksOf(source, target)) {
      const rtt = state.read(nowMs, this.#tables.shape.panes)?.rtt ?? null;
      if (rtt !== null) found.push({ method: state.key.method, ipFamily: state.key.ipFamily, rtt });
    }
    return found;
  }

  /**
   * What became of the packets of one ordered pair, pane by pane, in the same order; those that nothing is
   * known of are left out.
   */
  counts(source: string, target: string, nowMs: number): NonNullable<LinkDistributions["counts"]> {
    const { paneMs } = this.#tables.shape;
    return this.#linksOf(source, target).flatMap((state) => {
      const panes = state.facts(nowMs).map(({ pane, failures, rtt }) => ({
        at: rfc3339(pane * paneMs),
        received: rtt?.count ?? 0,
        failed: failures,
        p50Ms: rtt === null ? null : rtt.median * 1000,
      }));
      const { method, ipFamily } = state.key;
      const answeredAt = Number.isFinite(state.answeredMs) ? rfc3339(state.answeredMs) : null;
      return panes.length === 0 && answeredAt === null ? [] : [{ method, ipFamily, answeredAt, panes }];
    });
  }

  #linksOf(source: string, target: string): LinkState[] {
    const states = this.#tables.links.sorted();
    let low = 0;
    for (let high = states.length; low < high;) {
      const middle = (low + high) >>> 1;
      const { key } = states[middle]!;
      if ((compareText(key.source, source) || compareText(key.target, target)) < 0) low = middle + 1;
      else high = middle;
    }
    const found: LinkState[] = [];
    for (let at = low; at < states.length; at++) {
      const { key } = states[at]!;
      if (key.source !== source || key.target !== target) break;
      found.push(states[at]!);
    }
    return found;
  }

  /** How links are valued. */
  get rule(): CostRule {
    return this.#rule;
  }

  /** Frees what left the window first, so that no graph shows it. */
  build(
    cluster: ClusterState,
    nowMs: number,
    isWanted: (link: LinkKey) => boolean,
    coordinates: Coordinates | null = null,
  ): PublishedGraphs {
    return allSteps(this.#steps({ cluster, nowMs, isWanted, coordinates }));
  }

  /**
   * As {@link build}, but asks `turn` between its steps, and waits while it says so: what comes in meanwhile
   * goes into the windows, and may be in the graph already or not. Never to be called while a build is under
   * way.
   */
  buildInTurns(inputs: BuildInputs, turn: () => Promise<void> | null): Promise<PublishedGraphs> {
    return inTurns(this.#steps(inputs), turn);
  }

  *#steps(inputs: BuildInputs): Generator<void, PublishedGraphs> {
    const { cluster, nowMs, isWanted, coordinates } = inputs;
    const tables = this.#tables;
    const rule = this.#rule;
    tables.expire(nowMs, isWanted);
    yield;
    const before = this.#newest;
    const version = (before?.version ?? 0) + 1;
    const stamp = { version, nowMs };
    const measured = yield* clusterGraphSteps(tables, cluster, rule, stamp, "full", coordinates);
    const declared = declaredGraph(measured, inputs, rule, tables.linkOrder);
    this.#latencyUse = declared.use;
    this.#downNodes.update(cluster, declared.graph, inputs.look ?? null);
    const graph = this.#downNodes.mark(declared.graph);
    let tooFar = 0;
    const workflows = yield* workflowSteps(tables, cluster, stamp, "full", () => tooFar++);
    this.#channelsTooFar = tooFar;
    const demand = yield* demandSteps(tables, cluster, stamp, "full");
    tables.baselines.observe(nowMs);
    yield;
    this.#departures = tables.baselines.report(workflows, (node) => this.#downNodes.isDown(node));
    const after = new LazyGraphs({ graph, workflows, demand }, nowMs, {
      tables,
      rule,
      ...inputs,
      downNodes: this.#downNodes,
    });
    yield;
    const event = diffGraphs(
      before === null ? null : comparable(before),
      comparable(after),
      tables.linkOrder,
    );
    this.#newest = after;
    for (const workflow of event.changed.workflows) {
      const name = fullName(workflow);
      if (after.workflows("full").has(name)) this.#changedIn.set(name, version);
      else this.#changedIn.delete(name);
    }
    this.#announce(event);
    return after;
  }

  /** Returns the function that ends it. */
  listen(listener: GraphListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #announce(event: GraphEvent): void {
    this.history.push(event);
    for (const listener of this.#listeners) listener(event);
  }
}

/** A cluster graph of measurements with what others have declared. */
function declaredGraph(
  measured: ClusterGraphSnapshot,
  { declaredCosts, latencies = [] }: Pick<BuildInputs, "declaredCosts" | "latencies">,
  rule: CostRule,
  order: LinkOrder,
): { readonly graph: ClusterGraphSnapshot; readonly use: LatencyUse } {
  const declared = declaredCosts === undefined ? measured : { ...measured, declaredCosts };
  if (latencies.length === 0) return { graph: declared, use: NO_LATENCIES_USED };
  return withLatencies(declared, latencies, rule, order);
}

/** The graphs of the full window. */
interface FullWindow {
  readonly graph: ClusterGraphSnapshot;
  readonly workflows: readonly WorkflowGraphSnapshot[];
  readonly demand: Demand;
}

interface LazyInputs extends Omit<BuildInputs, "nowMs" | "isWanted"> {
  readonly tables: Tables;
  readonly rule: CostRule;
  readonly downNodes: DownNodes;
}

/**
 * The full window is built at once, as its changes must be told. The fast one isn't wanted often: it is read
 * from the same windows a little later, as of the same moment.
 */
class LazyGraphs implements PublishedGraphs {
  readonly version: number;
  readonly builtAtMs: number;
  readonly #inputs: LazyInputs;
  readonly #clusters = new Map<WindowName, ClusterGraphSnapshot>();
  readonly #workflows = new Map<WindowName, ReadonlyMap<string, WorkflowGraphSnapshot>>();
  readonly #demands = new Map<WindowName, Demand>();

  constructor({ graph, workflows, demand }: FullWindow, builtAtMs: number, inputs: LazyInputs) {
    this.version = graph.version;
    this.builtAtMs = builtAtMs;
    this.#inputs = inputs;
    this.#clusters.set("full", graph);
    this.#workflows.set("full", byName(workflows));
    this.#demands.set("full", demand);
  }

  get coordinates(): Coordinates | null {
    return this.#inputs.coordinates;
  }

  get nodes(): readonly ClusterNode[] {
    return this.cluster("full").nodes;
  }

  cluster(window: WindowName): ClusterGraphSnapshot {
    let graph = this.#clusters.get(window);
    if (graph === undefined) {
      const { tables, cluster, rule, coordinates, downNodes } = this.#inputs;
      const measured = buildClusterGraph(tables, cluster, rule, this.#stamp(), window, coordinates);
      graph = downNodes.mark(declaredGraph(measured, this.#inputs, rule, tables.linkOrder).graph);
      this.#clusters.set(window, graph);
    }
    return graph;
  }

  workflows(window: WindowName): ReadonlyMap<string, WorkflowGraphSnapshot> {
    let graphs = this.#workflows.get(window);
    if (graphs === undefined) {
      const { tables, cluster } = this.#inputs;
      const built = buildWorkflows(tables, cluster, this.#stamp(), window);
      this.#workflows.set(window, (graphs = byName(built)));
    }
    return graphs;
  }

  demand(window: WindowName): Demand {
    let demand = this.#demands.get(window);
    if (demand === undefined) {
      const { tables, cluster } = this.#inputs;
      demand = allSteps(demandSteps(tables, cluster, this.#stamp(), window));
      this.#demands.set(window, demand);
    }
    return demand;
  }

  #stamp(): { readonly version: number; readonly nowMs: number } {
    return { version: this.version, nowMs: this.builtAtMs };
  }
}

function byName(graphs: readonly WorkflowGraphSnapshot[]): ReadonlyMap<string, WorkflowGraphSnapshot> {
  return new Map(graphs.map((graph) => [fullName(graph), graph]));
}

function comparable(graphs: PublishedGraphs): Graphs {
  return { cluster: graphs.cluster("full"), workflows: [...graphs.workflows("full").values()] };
}
