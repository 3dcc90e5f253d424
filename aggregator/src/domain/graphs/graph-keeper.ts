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

/** Graphs of one version. A window's graphs are built on first access and then kept. */
export interface PublishedGraphs {
  readonly version: number;
  readonly builtAtMs: number;
  readonly coordinates: Coordinates | null;
  readonly nodes: readonly ClusterNode[];
  cluster(window: WindowName): ClusterGraphSnapshot;
  /** Keys: `namespace/name`. */
  workflows(window: WindowName): ReadonlyMap<string, WorkflowGraphSnapshot>;
  demand(window: WindowName): Demand;
}

type GraphListener = (event: GraphEvent) => void;

export interface BuildInputs {
  readonly cluster: ClusterState;
  readonly nowMs: number;
  /** Links that remain listed when they fall silent. */
  readonly isWanted: (link: LinkKey) => boolean;
  readonly coordinates: Coordinates | null;
  /** Declared costs between areas; null: none exist; absent: not read. */
  readonly declaredCosts?: DeclaredCosts | null;
  readonly latencies?: readonly NodeLatency[];
  /** Absent: running pods are unknown. */
  readonly look?: PodLook;
}

interface LinkDistribution extends Pick<LinkKey, "method" | "ipFamily"> {
  readonly rtt: Distribution;
}

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
  readonly #changedIn = new Map<string, number>();

  constructor(tables: Tables, rule: CostRule, history: EventHistory) {
    this.#tables = tables;
    this.#rule = rule;
    this.history = history;
  }

  get linkOrder(): LinkOrder {
    return this.#tables.linkOrder;
  }

  /** Number of declared channels left out of workflows because of the limit on far pods. */
  get channelsTooFar(): number {
    return this.#channelsTooFar;
  }

  get latencyUse(): LatencyUse {
    return this.#latencyUse;
  }

  get departures(): Departures {
    return this.#departures;
  }

  get newest(): PublishedGraphs | null {
    return this.#newest;
  }

  /** Workflows changed after that version, in order. Returns all for null or an unknown later version. */
  workflowsSince(version: number | null): WorkflowGraphSnapshot[] {
    const newest = this.#newest;
    if (newest === null) return [];
    const all = newest.workflows("full");
    if (version === null || version > newest.version) return [...all.values()];
    return Array.from(all)
      .filter(([name]) => this.#changedIn.get(name)! > version)
      .map(([, graph]) => graph);
  }

  /** Round-trip time distributions by method, in the order of links. Omits silent methods. */
  distributions(source: string, target: string, nowMs: number): LinkDistribution[] {
    const found: LinkDistribution[] = [];
    for (const state of this.#linksOf(source, target)) {
      const rtt = state.read(nowMs, this.#tables.shape.panes)?.rtt ?? null;
      if (rtt !== null) found.push({ method: state.key.method, ipFamily: state.key.ipFamily, rtt });
    }
    return found;
  }

  /** Packet counts of an ordered pair per pane, in the same order. Omits methods without data. */
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

  get rule(): CostRule {
    return this.#rule;
  }

  build(
    cluster: ClusterState,
    nowMs: number,
    isWanted: (link: LinkKey) => boolean,
    coordinates: Coordinates | null = null,
  ): PublishedGraphs {
    return allSteps(this.#steps({ cluster, nowMs, isWanted, coordinates }));
  }

  /**
   * Like {@link build}, but awaits `turn` between steps. Records that arrive meanwhile may or may not be
   * included. Must not run concurrently with another build.
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

  listen(listener: GraphListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #announce(event: GraphEvent): void {
    this.history.push(event);
    for (const listener of this.#listeners) listener(event);
  }
}

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

/** Builds the full window at once to publish its changes, and the fast one on demand. */
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
