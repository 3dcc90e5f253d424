import type { ClusterNodes, NodeState } from "../../domain/cluster-state.ts";
import { PeerAssignment, type AssignmentFigures } from "./peer-assignment.ts";
import type { PeerRule, PlanNode } from "./rule.ts";

export interface PlannedPair {
  readonly source: string;
  readonly target: string;
}

/** Wall time for rotation, on which all replicas must agree; monotonic time for intervals. */
export interface PlanTime {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/** Minimum interval between reassignments in a large cluster, ms; limits CPU time. */
const MIN_INTERVAL_MS = 1_000;

export interface Plans {
  node(name: string): PlanNode | null;
  /** Sorted by name. Null: the node is too new to have peers. */
  peersOf(name: string): readonly PlanNode[] | null;
  figures(): AssignmentFigures;
}

/** Reassigns peers only if nodes changed, and at most once a second in large clusters. */
export class ProbePlans {
  readonly #rule: PeerRule;
  #known: Known | null = null;
  #current: Assigned | null = null;
  #complete: Assigned | null = null;

  constructor(rule: PeerRule) {
    this.#rule = rule;
  }

  /** Fast while `cluster` is the same object. */
  at(cluster: ClusterNodes, time: PlanTime): Plans {
    const { known, current } = this.#update(cluster, time);
    return {
      node: (name) => known.byName.get(name) ?? null,
      peersOf: (name) =>
        current.peers.node(name) === null
          ? null
          : current.peers.peersOf(name, time.wallMs).flatMap((peer) => {
              const now = known.byName.get(peer.name);
              return now?.eligible === true ? [now] : [];
            }),
      figures: () => current.peers.figures(time.wallMs),
    };
  }

  /** Returns a predicate for links to keep. Links to unready nodes stay, so that their silence is visible. */
  wanted(cluster: ClusterNodes, time: PlanTime): (pair: PlannedPair) => boolean {
    const { current, complete } = this.#update(cluster, time);
    return ({ source, target }) =>
      current.peers.has(source, target, time.wallMs) ||
      (complete !== current && complete.peers.has(source, target, time.wallMs));
  }

  #update(cluster: ClusterNodes, { monotonicMs }: PlanTime): Updated {
    const known = this.#know(cluster);
    let { current, complete } = { current: this.#current, complete: this.#complete };
    if (current === null || complete === null || this.#mayChoose(current, known, monotonicMs)) {
      this.#current = current = this.#assign(known.list, current, monotonicMs);
      complete = known.list.every(({ eligible }) => eligible)
        ? current
        : this.#assign(asIfReady(known.list), complete, monotonicMs);
      this.#complete = complete;
    }
    return { known, current, complete };
  }

  #know(cluster: ClusterNodes): Known {
    if (this.#known?.nodes !== cluster.nodes || this.#known.leaving !== cluster.leaving) {
      const { nodes, leaving } = cluster;
      const list = nodes.map((node) => planNode(node, leaving));
      this.#known = { nodes, leaving, list, byName: new Map(list.map((node) => [node.name, node])) };
    }
    return this.#known;
  }

  #mayChoose(current: Assigned, { list }: Known, nowMs: number): boolean {
    if (current.nodes === list) return false;
    return current.nodes.length <= this.#rule.fullMeshLimit || nowMs - current.chosenMs >= MIN_INTERVAL_MS;
  }

  #assign(nodes: readonly PlanNode[], before: Assigned | null, nowMs: number): Assigned {
    if (before !== null && isSameList(before.nodes, nodes)) return { ...before, nodes };
    return { nodes, peers: new PeerAssignment(nodes, this.#rule), chosenMs: nowMs };
  }
}

interface Known extends ClusterNodes {
  readonly list: readonly PlanNode[];
  readonly byName: ReadonlyMap<string, PlanNode>;
}

interface Assigned {
  readonly nodes: readonly PlanNode[];
  readonly peers: PeerAssignment;
  readonly chosenMs: number;
}

interface Updated {
  readonly known: Known;
  readonly current: Assigned;
  readonly complete: Assigned;
}

/** Cordoned nodes are still probed, because their traffic continues. */
function planNode({ name, zone, region, ready }: NodeState, leaving: ReadonlySet<string>): PlanNode {
  return { name, zone, region, eligible: ready && !leaving.has(name) };
}

function asIfReady(nodes: readonly PlanNode[]): readonly PlanNode[] {
  return nodes.map((node) => ({ ...node, eligible: true }));
}

function isSameList(before: readonly PlanNode[], after: readonly PlanNode[]): boolean {
  return (
    before.length === after.length &&
    before.every((node, place) => {
      const { name, zone, region, eligible } = after[place]!;
      return node.name === name && node.zone === zone && node.region === region && node.eligible === eligible;
    })
  );
}
