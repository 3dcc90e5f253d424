import {
  createInformer,
  KINDS,
  type ClusterStore,
  type Informer,
  type ReportedEvent,
} from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { ClusterGraphSnapshot, ClusterNode, Link, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { PublishedGraphs } from "../domain/graphs/graph-keeper.ts";
import type { Writer } from "@isochrone/topology";
import { soleOwner, type Ownership } from "../writers/ownership.ts";
import { annotationSettings } from "../writers/settings.ts";
import { createWriters } from "../writers/writers.ts";
import { nodeObject } from "./cluster.ts";
import { clusterNode, linkOf } from "./snapshots.ts";

/** A node with 2 available cores and 4 GiB by default. */
export function graphNode(name: string, more: Partial<ClusterNode> = {}): ClusterNode {
  const available = { availableCpuMillicores: 2000, availableMemoryBytes: 4 * 1024 ** 3, usageAgeSeconds: 5 };
  return clusterNode(name, { ...available, ...more });
}

export function measuredLink(source: string, target: string, costMs: number, more: Partial<Link> = {}): Link {
  const rttMs = { p50: costMs, p90: costMs, p99: null, mean: costMs, count: 50 };
  return linkOf(source, target, costMs, { rttMs, ...more });
}

/** Writers between a store and manual graphs, on a manual clock. */
export class WriterTestbed {
  readonly clock = new ManualClock();
  readonly store: ClusterStore;
  readonly logger = new MemoryLogger({ clock: this.clock });
  readonly registry = createRegistry();
  readonly events: { readonly name: string; readonly event: ReportedEvent }[] = [];
  nodes: ClusterNode[] = [];
  links: Link[] = [];
  workflows: WorkflowGraphSnapshot[] = [];
  /** Applies and updates of the writers, including refused ones. */
  readonly sent: { readonly name: string; readonly atMs: number }[] = [];
  fault: (() => Error) | null = null;
  /** Time of the last build; null: always now. */
  lastBuildMs: number | null = null;
  before: ((name: string) => Promise<void>) | null = null;
  readonly #informers: Informer[] = [];
  #stop: (() => Promise<void>)[] = [];
  #starts = 0;

  constructor() {
    this.store = createMemoryStore({ clock: this.clock });
  }

  async addNodes(...names: string[]): Promise<void> {
    for (const name of names) {
      await this.store.create(nodeObject(name, "z1"));
      this.nodes.push(graphNode(name));
    }
  }

  async start(
    settings: Readonly<Record<string, unknown>> = {},
    ownership: Ownership = soleOwner({ isLeader: () => true }),
    self?: Writer,
  ): Promise<void> {
    const { annotations: config } = loadSettings([annotationSettings], {
      env: {},
      file: { annotations: { nodes: true, warmUpMs: 0, ...settings } },
    });
    const informers = [KINDS.node, KINDS.deployment].map((kind) =>
      createInformer({ store: this.store, kind, clock: this.clock, random: seededRandom(2) }),
    );
    this.#informers.push(...informers);
    const [nodes, deployments] = informers as [Informer, Informer];
    const writers = createWriters(config, {
      store: this.#watched(),
      clock: this.clock,
      random: seededRandom(1),
      logger: this.logger,
      registry: this.#starts++ === 0 ? this.registry : createRegistry(),
      events: {
        event: (regarding, event) => {
          const { name } = "metadata" in regarding ? regarding.metadata : regarding;
          this.events.push({ name, event });
        },
      },
      ownership,
      self: self ?? { name: `aggregator-${this.#starts}`, sinceMs: this.clock.now() },
      objects: {
        nodes: () => nodes.items(),
        workloads: () => deployments.items(),
        latest: ({ kind, metadata }) =>
          (kind === "Node" ? nodes : deployments).get(metadata.name, metadata.namespace),
      },
      graphs: () => this.#graphs(),
    });
    await writers.start();
    this.#stop.push(() => writers.stop());
    await this.pass(0);
  }

  async stopWriters(): Promise<void> {
    for (const stop of this.#stop) await stop();
    this.#stop = [];
  }

  async stopLastWriters(): Promise<void> {
    await this.#stop.pop()?.();
  }

  async stop(): Promise<void> {
    await this.stopWriters();
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  /** Advances the clock in steps of a second. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1000) {
      await this.clock.advance(Math.min(1000, ms - passed));
      for (let turns = 0; turns < 4; turns++) await this.clock.advance(0);
    }
    for (let turns = 0; turns < 4; turns++) await this.clock.advance(0);
  }

  async annotations(name: string, kind: "node" | "deployment" = "node"): Promise<Record<string, string>> {
    const ref = kind === "node" ? { ...KINDS.node, name } : { ...KINDS.deployment, namespace: "shop", name };
    return (await this.store.get(ref))?.metadata.annotations ?? {};
  }

  async metric(name: string, labels: Readonly<Record<string, string>>): Promise<number | undefined> {
    const { values } = await this.registry.getSingleMetric(name)!.get();
    return values.find((value) =>
      Object.entries(labels).every(([label, text]) => value.labels[label] === text),
    )?.value;
  }

  #graphs(): PublishedGraphs {
    const builtAtMs = this.lastBuildMs ?? this.clock.now();
    const graph: ClusterGraphSnapshot = {
      version: 1,
      observedAt: new Date(builtAtMs).toISOString(),
      windowSeconds: 300,
      costMethods: ["udp_rr", "icmp"],
      coordinates: {
        fittedAt: new Date(builtAtMs).toISOString(),
        ageSeconds: 1,
        pairs: 10,
        medianRelativeError: 0.1,
        p90RelativeError: 0.3,
      },
      nodes: this.nodes,
      links: this.links,
    };
    return {
      version: 1,
      builtAtMs,
      coordinates: null,
      nodes: this.nodes,
      cluster: () => graph,
      demand: () => ({ version: 1, observedAt: graph.observedAt, windowSeconds: 300, services: [] }),
      workflows: () => new Map(this.workflows.map((each) => [`${each.namespace}/${each.name}`, each])),
    };
  }

  #watched(): ClusterStore {
    const note = (name: string): void => {
      this.sent.push({ name, atMs: this.clock.monotonic() });
      if (this.fault !== null) throw this.fault();
    };
    return Object.assign(Object.create(this.store) as ClusterStore, {
      apply: async (...[object, options]: Parameters<ClusterStore["apply"]>) => {
        note(object.metadata.name);
        await this.before?.(object.metadata.name);
        return await this.store.apply(object, options);
      },
      update: async (...[object, options]: Parameters<ClusterStore["update"]>) => {
        note(object.metadata.name);
        return await this.store.update(object, options);
      },
      get: (ref: Parameters<ClusterStore["get"]>[0]) => this.store.get(ref),
      create: (object: Parameters<ClusterStore["create"]>[0]) => this.store.create(object),
    });
  }
}
