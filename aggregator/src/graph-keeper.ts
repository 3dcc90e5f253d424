import type { ClusterGraphSnapshot, GraphEvent, WorkflowGraphSnapshot } from "@isochrone/topology";
import { buildClusterGraph, type CostRule } from "./domain/cluster-graph.ts";
import { fullName, type ClusterState } from "./domain/cluster-state.ts";
import type { LinkOrder } from "./domain/compare.ts";
import type { EventHistory } from "./domain/event-history.ts";
import { diffGraphs, type Graphs } from "./domain/graph-diff.ts";
import type { LinkKey } from "./domain/links.ts";
import type { Tables } from "./domain/tables.ts";
import type { WindowName } from "./domain/window-shape.ts";
import { buildWorkflows } from "./domain/workflows.ts";

/** The graphs of one version. A window's graphs are built when they are first asked for, and then stay. */
export interface PublishedGraphs {
  readonly version: number;
  readonly builtAtMs: number;
  cluster(window: WindowName): ClusterGraphSnapshot;
  /** By namespace/name. */
  workflows(window: WindowName): ReadonlyMap<string, WorkflowGraphSnapshot>;
}

/** Told of each new version, in order. */
export type GraphListener = (event: GraphEvent) => void;

/** Builds the graphs version by version, keeps the newest, and tells what changed. */
export class GraphKeeper {
  readonly history: EventHistory;
  readonly #tables: Tables;
  readonly #rule: CostRule;
  readonly #listeners = new Set<GraphListener>();
  #newest: PublishedGraphs | null = null;

  constructor(tables: Tables, rule: CostRule, history: EventHistory) {
    this.#tables = tables;
    this.#rule = rule;
    this.history = history;
  }

  /** How the cluster graphs list their links. */
  get linkOrder(): LinkOrder {
    return this.#tables.linkOrder;
  }

  /** Null before the first build. */
  get newest(): PublishedGraphs | null {
    return this.#newest;
  }

  /** Frees what left the window first, so that no graph shows it. */
  build(cluster: ClusterState, nowMs: number, isWanted: (link: LinkKey) => boolean): PublishedGraphs {
    this.#tables.expire(nowMs, isWanted);
    const before = this.#newest;
    const after = new LazyGraphs((before?.version ?? 0) + 1, nowMs, this.#tables, this.#rule, cluster);
    const event = diffGraphs(
      before === null ? null : comparable(before),
      comparable(after),
      this.#tables.linkOrder,
    );
    this.#newest = after;
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

/**
 * The full window is built at once, as its changes must be told. The fast one isn't wanted often: it is read from the same
 * windows a little later, as of the same moment.
 */
class LazyGraphs implements PublishedGraphs {
  readonly version: number;
  readonly builtAtMs: number;
  readonly #tables: Tables;
  readonly #rule: CostRule;
  readonly #state: ClusterState;
  readonly #clusters = new Map<WindowName, ClusterGraphSnapshot>();
  readonly #workflows = new Map<WindowName, ReadonlyMap<string, WorkflowGraphSnapshot>>();

  constructor(version: number, builtAtMs: number, tables: Tables, rule: CostRule, state: ClusterState) {
    this.version = version;
    this.builtAtMs = builtAtMs;
    this.#tables = tables;
    this.#rule = rule;
    this.#state = state;
  }

  cluster(window: WindowName): ClusterGraphSnapshot {
    let graph = this.#clusters.get(window);
    if (graph === undefined) {
      graph = buildClusterGraph(this.#tables, this.#state, this.#rule, this.#stamp(), window);
      this.#clusters.set(window, graph);
    }
    return graph;
  }

  workflows(window: WindowName): ReadonlyMap<string, WorkflowGraphSnapshot> {
    let graphs = this.#workflows.get(window);
    if (graphs === undefined) {
      const built = buildWorkflows(this.#tables, this.#state, this.#stamp(), window);
      this.#workflows.set(window, (graphs = new Map(built.map((graph) => [fullName(graph), graph]))));
    }
    return graphs;
  }

  #stamp(): { readonly version: number; readonly nowMs: number } {
    return { version: this.version, nowMs: this.builtAtMs };
  }
}

function comparable(graphs: PublishedGraphs): Graphs {
  return { cluster: graphs.cluster("full"), workflows: [...graphs.workflows("full").values()] };
}
