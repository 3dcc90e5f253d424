import { createInformer, KINDS, nodeView } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import type { ClusterStore, Informer, KubernetesObject, NodeSpec } from "@isochrone/kubernetes";
import type { Clock, Logger, Random, Service } from "@isochrone/runtime";
import { annotatedCluster, ClusterGraph } from "@isochrone/topology";
import type { AnnotatedNode, ClusterGraphSnapshot } from "@isochrone/topology";

interface NodeAnnotationsOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Annotations change every few minutes. Building a graph of 5,000 nodes takes 0.1 s. */
const REBUILD_MS = 10_000;

export class NodeAnnotations implements Service {
  readonly #options: NodeAnnotationsOptions;
  #informer: Informer | null = null;
  #built: {
    readonly graph: ClusterGraph | null;
    readonly snapshot: ClusterGraphSnapshot;
    readonly atMs: number;
  } | null = null;

  constructor(options: NodeAnnotationsOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    const { store, clock, random, logger } = this.#options;
    this.#informer = createInformer({ store, kind: KINDS.node, clock, random, logger, trim: trimmedNode });
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#informer?.stop();
  }

  /** Rebuilt on demand, at most once per interval. Returns null if no node has fresh annotations. */
  graph(): ClusterGraph | null {
    const { clock, logger } = this.#options;
    const atMs = clock.monotonic();
    if (this.#built !== null && atMs - this.#built.atMs < REBUILD_MS) return this.#built.graph;
    const nodes = (this.#informer?.items() ?? []).map(annotatedNode);
    const { snapshot, staleNodes, faults } = annotatedCluster(nodes, { nowMs: clock.now() });
    if (faults.length > 0)
      logger.warnOnce("node-annotations", "annotations of nodes can't be read", {
        faults: faults.length,
        first: faults[0],
      });
    const graph = staleNodes.length < nodes.length ? new ClusterGraph(snapshot) : null;
    graph?.prepare();
    this.#built = { graph, snapshot, atMs };
    return graph;
  }

  snapshot(): ClusterGraphSnapshot | null {
    return this.#built?.snapshot ?? null;
  }
}

/** Images and volumes make up most of a real node. */
function trimmedNode(node: KubernetesObject): KubernetesObject {
  const { apiVersion, kind, metadata, spec, status } = node;
  const { allocatable, conditions } = status ?? {};
  return {
    apiVersion,
    kind,
    metadata,
    spec: { unschedulable: looseFields<NodeSpec>(spec).unschedulable === true },
    status: { allocatable, conditions },
  };
}

function annotatedNode(node: KubernetesObject): AnnotatedNode {
  return { ...nodeView(node), annotations: node.metadata.annotations ?? {} };
}
