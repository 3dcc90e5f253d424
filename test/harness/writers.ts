import { annotationSettings } from "@isochrone/aggregator";
import type { Ownership, PublishedGraphs } from "@isochrone/aggregator/testing";
import { createWriters } from "@isochrone/aggregator/testing";
import {
  createInformer,
  KINDS,
  type ClusterStore,
  type Informer,
  type ReportedEvent,
} from "@isochrone/kubernetes";
import { node } from "@isochrone/placement/testing";
import {
  createRegistry,
  loadSettings,
  seededRandom,
  type Clock,
  type Logger,
  type Service,
} from "@isochrone/runtime";
import type { ClusterNode, Link, WorkflowGraphSnapshot } from "@isochrone/topology";

interface WriterGroundOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly ownership?: Ownership;
  /** @default a replica without rivals */
  readonly self?: { readonly name: string; readonly sinceMs: number };
}

export class WriterTestbed {
  nodes: readonly ClusterNode[] = [];
  links: readonly Link[] = [];
  workflows: readonly WorkflowGraphSnapshot[] = [];
  readonly events: { readonly name: string; readonly event: ReportedEvent }[] = [];
  readonly registry = createRegistry();
  readonly #clock: Clock;
  readonly #informers: Informer[];
  readonly #writers: Service;
  #frozen: readonly Informer[] | null = null;
  #held = new Map<Informer, ReturnType<Informer["items"]>>();

  constructor({ store, clock, logger, settings = {}, ownership, self }: WriterGroundOptions) {
    this.#clock = clock;
    const { annotations: config } = loadSettings([annotationSettings], {
      env: {},
      file: { annotations: { nodes: true, warmUpMs: 0, ...settings } },
    });
    const surroundings = { store, clock, random: seededRandom(1), logger };
    this.#informers = [KINDS.node, KINDS.deployment].map((kind) => createInformer({ ...surroundings, kind }));
    const [nodes, deployments] = this.#informers as [Informer, Informer];
    this.#writers = createWriters(config, {
      ...surroundings,
      registry: this.registry,
      events: {
        event: (regarding, event) => {
          const { name } = "metadata" in regarding ? regarding.metadata : regarding;
          this.events.push({ name, event });
        },
      },
      ownership: ownership ?? { owns: () => true, isLeader: () => true, replicas: () => 1 },
      self: self ?? { name: "aggregator", sinceMs: 0 },
      objects: {
        nodes: () => this.#items(nodes),
        workloads: () => this.#items(deployments),
        latest: ({ kind, metadata }) => {
          const seen = this.#items(kind === "Node" ? nodes : deployments);
          return seen.find((each) => each.metadata.name === metadata.name) ?? null;
        },
      },
      graphs: () => this.#graphs(),
    });
  }

  async start(): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.synced()));
    await this.#writers.start();
  }

  async stop(): Promise<void> {
    await this.#writers.stop();
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  /** Freezes the current view, like a lagging watch. */
  freeze(): void {
    this.#held = new Map(this.#informers.map((informer) => [informer, informer.items()]));
    this.#frozen = this.#informers;
  }

  thaw(): void {
    this.#frozen = null;
  }

  async metric(name: string, labels: Readonly<Record<string, string>>): Promise<number | undefined> {
    const { values } = await this.registry.getSingleMetric(name)!.get();
    const isWanted = (of: Readonly<Record<string, unknown>>): boolean =>
      Object.entries(labels).every(([label, text]) => of[label] === text);
    return values.find((value) => isWanted(value.labels))?.value;
  }

  #items(informer: Informer): ReturnType<Informer["items"]> {
    return this.#frozen === null ? informer.items() : this.#held.get(informer)!;
  }

  #graphs(): PublishedGraphs {
    const builtAtMs = this.#clock.now();
    const fit = {
      fittedAt: new Date(builtAtMs).toISOString(),
      ageSeconds: 1,
      pairs: 10,
      medianRelativeError: 0.1,
      p90RelativeError: 0.3,
    };
    const graph = {
      version: 1,
      observedAt: new Date(builtAtMs).toISOString(),
      windowSeconds: 300,
      costMethods: ["udp_rr" as const],
      coordinates: this.nodes.some(({ coordinate }) => coordinate !== null) ? fit : null,
      nodes: [...this.nodes],
      links: [...this.links],
    };
    return {
      version: 1,
      builtAtMs,
      coordinates: null,
      nodes: graph.nodes,
      cluster: () => graph,
      demand: () => ({ version: 1, observedAt: graph.observedAt, windowSeconds: 300, services: [] }),
      workflows: () => new Map(this.workflows.map((each) => [`${each.namespace}/${each.name}`, each])),
    };
  }
}

export function graphNode(name: string, more: Partial<ClusterNode> = {}): ClusterNode {
  const allocatable = { allocatableCpuMillicores: 4000, allocatableMemoryBytes: 8 * 1024 ** 3 };
  return node(name, 2000, 4 * 1024 ** 3, { ...allocatable, ...more });
}
