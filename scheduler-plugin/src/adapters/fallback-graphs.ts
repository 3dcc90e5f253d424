import type { PriceTable } from "@isochrone/prices";
import type { Clock } from "@isochrone/runtime";
import type { ClusterGraph, ClusterGraphSnapshot, WorkflowGraph } from "@isochrone/topology";
import { graphAgeSeconds } from "../domain/graph-age.ts";
import type { GraphSource } from "../ports/ports.ts";

interface AnnotatedGraph {
  graph(): ClusterGraph | null;
  snapshot?(): ClusterGraphSnapshot | null;
}

export class FallbackGraphs implements GraphSource {
  readonly #primary: GraphSource;
  readonly #annotated: AnnotatedGraph;
  readonly #clock: Clock;

  constructor(primary: GraphSource, annotated: AnnotatedGraph, clock: Clock) {
    this.#primary = primary;
    this.#annotated = annotated;
    this.#clock = clock;
  }

  start(): Promise<void> {
    return this.#primary.start();
  }

  stop(): Promise<void> {
    return this.#primary.stop();
  }

  cluster(): ClusterGraph | null {
    const graph = this.#primary.cluster();
    return this.#isFresh(graph) ? graph : (this.#annotated.graph() ?? graph);
  }

  clusterSnapshot(): ClusterGraphSnapshot | null {
    const isPrimary = this.cluster() === this.#primary.cluster();
    return (isPrimary ? this.#primary.clusterSnapshot?.() : this.#annotated.snapshot?.()) ?? null;
  }

  workflow(namespace: string, name: string): WorkflowGraph | null {
    return this.#primary.workflow(namespace, name);
  }

  workflows(): Iterable<WorkflowGraph> {
    return this.#primary.workflows?.() ?? [];
  }

  prices(): PriceTable | null {
    return this.#primary.prices?.() ?? null;
  }

  ready(): boolean {
    return this.#primary.ready() || this.#annotated.graph() !== null;
  }

  note(): string | null {
    const graph = this.#primary.cluster();
    if (this.#isFresh(graph) || this.#annotated.graph() === null) return null;
    const why =
      graph === null
        ? "the graph API was not read yet"
        : `the graph API's cluster graph is ${Math.round(graphAgeSeconds(graph, this.#clock.now()))} s old`;
    return `${why}: the annotations of the nodes are used instead`;
  }

  #isFresh(graph: ClusterGraph | null): boolean {
    return graph !== null && graphAgeSeconds(graph, this.#clock.now()) <= graph.maxAgeSeconds;
  }
}
