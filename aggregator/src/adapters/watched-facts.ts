import type { Clock } from "@isochrone/runtime";
import type { ClusterNodes, ClusterState } from "../domain/cluster-state.ts";
import type { ClusterFacts, Known } from "../domain/speakers/authority.ts";

/** What facts are drawn from; a StoreClusterWatch. */
export interface WatchedCluster {
  current(): ClusterState;
  nodes(): ClusterNodes;
  pending(): readonly string[];
}

/** Pods change many times a second, and what a pod is missed for is asked again within a pane. */
const REBUILD_MS = 1_000;

interface OnNode {
  /** namespace/name of workloads; of pods without one, their own. */
  readonly workloads: Set<string>;
  hasMeshProxy: boolean;
}

/**
 * What the watched objects say of nodes and of what runs on them. Both are indexed when somebody asks, and
 * not before.
 */
export class WatchedFacts implements ClusterFacts {
  readonly #watch: WatchedCluster;
  readonly #clock: Clock;
  #nodes: ClusterNodes["nodes"] | null = null;
  #zones: ReadonlyMap<string, string | null> = new Map();
  #pods: ClusterState["pods"] | null = null;
  #onNodes: ReadonlyMap<string, OnNode> = new Map();
  #builtMs = Number.NEGATIVE_INFINITY;
  #isListed = false;

  constructor(watch: WatchedCluster, clock: Clock) {
    this.#watch = watch;
    this.#clock = clock;
  }

  isNode(name: string): Known {
    const zones = this.#zonesNow();
    if (zones.size === 0) return "unknown";
    return zones.has(name) ? "yes" : "no";
  }

  zoneOf(node: string): string | null | undefined {
    return this.#zonesNow().get(node);
  }

  /** By name of the nodes; empty while they are listed. */
  #zonesNow(): ReadonlyMap<string, string | null> {
    if (!this.#hasAll()) return this.#zones;
    const { nodes } = this.#watch.nodes();
    if (nodes !== this.#nodes) {
      this.#nodes = nodes;
      this.#zones = new Map(nodes.map(({ name, zone }) => [name, zone]));
    }
    return this.#zones;
  }

  runsOn(node: string, namespace: string, workload: string): Known {
    return this.#ask((): boolean => {
      return this.#onNodes.get(node)?.workloads.has(`${namespace}/${workload}`) ?? false;
    });
  }

  hasMeshProxy(node: string): Known {
    return this.#ask(() => this.#onNodes.get(node)?.hasMeshProxy ?? false);
  }

  /** A "no" may be old news: then the pods are looked at anew, once a second at most. */
  #ask(isSo: () => boolean): Known {
    if (!this.#hasAll()) return "unknown";
    if (isSo()) return "yes";
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#builtMs < REBUILD_MS) return "no";
    const { pods } = this.#watch.current();
    if (pods === this.#pods) return "no";
    this.#builtMs = nowMs;
    this.#pods = pods;
    this.#onNodes = indexed(pods);
    return isSo() ? "yes" : "no";
  }

  #hasAll(): boolean {
    this.#isListed ||= this.#watch.pending().length === 0;
    return this.#isListed;
  }
}

function indexed(pods: ClusterState["pods"]): Map<string, OnNode> {
  const byNode = new Map<string, OnNode>();
  for (const { node, namespace, name, workload, isMeshProxy } of pods) {
    if (node === null) continue;
    let here = byNode.get(node);
    if (here === undefined) byNode.set(node, (here = { workloads: new Set(), hasMeshProxy: false }));
    here.workloads.add(`${namespace}/${workload?.name ?? name}`);
    here.hasMeshProxy ||= isMeshProxy === true;
  }
  return byNode;
}
