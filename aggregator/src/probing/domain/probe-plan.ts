import type { ClusterNodes, NodeState } from "../../domain/cluster-state.ts";
import { PeerAssignment, type AssignmentFigures } from "./peer-assignment.ts";
import type { PeerRule, PlanNode } from "./rule.ts";

/** A link that the plans ask for or don't. */
export interface PlannedPair {
  readonly source: string;
  readonly target: string;
}

/**
 * Rotation follows the wall clock, as all replicas must agree; what takes time is spaced by one that never
 * goes back.
 */
export interface PlanTime {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

/**
 * Least time between two choices of the peers of a large cluster, ms: a storm of nodes that come and go must
 * not fill the processor.
 */
const MIN_INTERVAL_MS = 1_000;

/** Who probes whom at one moment. */
export interface Plans {
  /** Null: there is no such node. */
  node(name: string): PlanNode | null;
  /** Sorted by name. Null: the node is so new that its peers are still to be chosen. */
  peersOf(name: string): readonly PlanNode[] | null;
  figures(): AssignmentFigures;
}

/**
 * Keeps who probes whom. Peers are chosen anew only when a node came, went or changed, and in large clusters
 * once a second at most; a node that stops being ready is left out at once in any case.
 */
export class ProbePlans {
  readonly #rule: PeerRule;
  #known: Known | null = null;
  #current: Assigned | null = null;
  /** As if every node were ready. */
  #complete: Assigned | null = null;

  constructor(rule: PeerRule) {
    this.#rule = rule;
  }

  /** Cheap while `cluster` is the same object. */
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

  /**
   * Tells links that should be there from those that may be forgotten. To a node that isn't ready nobody
   * sends any more, but its links are the ones that must be seen to be silent: they stay with those that
   * stand in for them.
   */
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

/** Nodes as the cluster has them now. */
interface Known extends ClusterNodes {
  readonly list: readonly PlanNode[];
  readonly byName: ReadonlyMap<string, PlanNode>;
}

/** Peers as they were chosen last. */
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

/** A cordoned node's traffic goes on, and so does its probing. */
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
