// The demo without its processes: real aggregator and scheduler-plugin on a memory store and emulated time;
// kubelets, probes, proxies and users are models. One hour takes less than a minute.
import { looseFields, looseList } from "@isochrone/primitives";
import { movingConfig, PROPOSALS, schedulerConfig } from "@isochrone/cli/testing";
import { createInformer, KINDS, PLACEMENT_GATE, podView, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { defaultLinks, defaultSites, loadManifest, loseNode, SAMPLE_MANIFEST } from "@isochrone/lab";
import type { WorkflowManifest } from "@isochrone/lab";
import { nodeObject, podStatus, StandIn } from "@isochrone/lab/testing";
import { createRegistry, seededRandom, type Random } from "@isochrone/runtime";
import { MemoryLogger } from "@isochrone/runtime/testing";
import { createSchedulerPlugin, type MoveProgress } from "@isochrone/scheduler-plugin";
import type { SchedulerPlugin } from "@isochrone/scheduler-plugin/testing";
import { PodLives } from "../audit/pod-lives.ts";
import type { Channel } from "@isochrone/topology";
import { MeasuredGraphs } from "./measured-graphs.ts";
import { ModelClock } from "./model-clock.ts";
import { QUIET, Waiting, type Machine, type TrueLink } from "./noise.ts";
import { Users } from "./users.ts";

interface ModelOptions {
  readonly seed: number;
  /** @default QUIET */
  readonly machine?: Machine;
  /** @default 5, as in the demo */
  readonly requestsPerSecond?: number;
}

const WINDOW_MS = 30_000;
const NODES = 8;
const NODE_SIZE = { cpuMillicores: 4_000, memoryBytes: 8 * 2 ** 30 };
const KUBELET_MS = 500;
/** Time from binding to readiness of a pod, and from deletion until it is gone. */
const STARTS_IN_MS = 1_500;
const ENDS_IN_MS = 1_000;
const PLACED_WITHIN_MS = 300_000;
/** Searches and watches of the product run in real time while emulated time waits for them. */
const TURNS = 3;

export class ModelCluster {
  readonly clock = new ModelClock();
  readonly store = createMemoryStore({ clock: this.clock });
  readonly lives = new PodLives();
  readonly progress: (MoveProgress & { readonly atMs: number })[] = [];
  readonly users: Users;
  readonly graphs: MeasuredGraphs;
  readonly logger = new MemoryLogger();
  readonly nodes: readonly string[];
  readonly #random: Random;
  readonly #manifest: WorkflowManifest;
  readonly #links = new Map<string, TrueLink>();
  readonly #initial: ReadonlyMap<string, TrueLink>;
  readonly #dead = new Set<string>();
  readonly #seenMs = new Map<string, number>();
  #pods: readonly KubernetesObject[] = [];
  #standIn: { stop(): Promise<void> } = { stop: async () => undefined };
  #plugin: SchedulerPlugin | null = null;

  private constructor(
    { seed, machine = QUIET, requestsPerSecond = 5 }: ModelOptions,
    manifest: WorkflowManifest,
  ) {
    this.#random = seededRandom(seed);
    this.#manifest = manifest;
    const sites = defaultSites(NODES);
    this.nodes = sites.map(({ name }) => name);
    const links = defaultLinks(sites);
    for (const [row, source] of this.nodes.entries())
      for (const [column, target] of this.nodes.entries())
        if (row !== column) this.#links.set(`${source} ${target}`, links[row]![column]!);
    this.#initial = new Map(this.#links);
    const link = (source: string, target: string): TrueLink => this.#links.get(`${source} ${target}`)!;
    const isDead = (node: string): boolean => this.#dead.has(node);
    this.users = new Users({ manifest, requestsPerSecond, link, random: this.#random });
    this.graphs = new MeasuredGraphs({
      clock: this.clock,
      random: this.#random,
      store: this.store,
      windowMs: WINDOW_MS,
      nodes: this.nodes,
      link,
      isDead,
      waiting: new Waiting(machine, this.#random),
      namespace: manifest.namespace,
      workflow: manifest.workflow,
    });
  }

  /** Resolves when the planner has placed the whole workflow and the descheduler may move it. */
  static async start(options: ModelOptions): Promise<ModelCluster> {
    const model = new ModelCluster(options, await loadManifest(SAMPLE_MANIFEST));
    await model.#begin();
    return model;
  }

  get nowMs(): number {
    return this.clock.now();
  }

  placement(): ReadonlyMap<string, string> {
    return this.lives.placementAt(this.nowMs);
  }

  link(a: string, b: string): TrueLink {
    return this.#links.get(`${a} ${b}`)!;
  }

  setLink(a: string, b: string, change: Partial<TrueLink>): void {
    for (const key of [`${a} ${b}`, `${b} ${a}`])
      this.#links.set(key, { ...this.#links.get(key)!, ...change });
  }

  /** Restores all links to their initial state. Dead nodes stay dead. */
  healLinks(): void {
    for (const [key, link] of this.#initial) this.#links.set(key, link);
  }

  /** Ends the node's processes at once. The control plane notices later. */
  killNode(node: string): void {
    this.#dead.add(node);
    void loseNode({ store: this.store, node, clock: this.clock, signal: new AbortController().signal });
  }

  isDead(node: string): boolean {
    return this.#dead.has(node);
  }

  async restart(workload: string): Promise<void> {
    const annotations = { "kubectl.kubernetes.io/restartedAt": new Date(this.nowMs).toISOString() };
    const ref = { ...KINDS.deployment, namespace: this.#manifest.namespace, name: workload };
    await this.store.patch(ref, { spec: { template: { metadata: { annotations } } } });
  }

  channels(): readonly Channel[] {
    const { namespace, workflow } = this.#manifest;
    return this.graphs.workflow(namespace, workflow)?.channels ?? [];
  }

  /** Returns the best plan's proposals, as in the API and on the page. */
  async proposals(): Promise<readonly ModelProposal[]> {
    const answer = await this.#plugin!.app.inject("/api/v1/plans?kind=proposal&limit=10");
    if (answer.statusCode !== 200) throw new Error(`plans: status ${answer.statusCode}, ${answer.body}`);
    return answer.json<{ readonly plans: readonly ModelProposal[] }>().plans;
  }

  /** @param each called once per emulated second */
  async run(durationMs: number, each: () => Promise<void> | void = () => undefined): Promise<void> {
    const endMs = this.clock.monotonic() + durationMs;
    while (this.clock.monotonic() < endMs) {
      await this.#second();
      await each();
    }
  }

  async stop(): Promise<void> {
    const stopped = Promise.all([this.#plugin?.stop(), this.#standIn.stop(), this.graphs.stop()]);
    await whilePending(stopped, () => this.clock.advanceTo(this.clock.monotonic() + 1_000));
  }

  async #begin(): Promise<void> {
    const { clock, store, logger } = this;
    for (const site of defaultSites(NODES))
      await store.create(nodeObject({ ...site, ...NODE_SIZE }, "127.0.0.1", 10_250, clock.now()));
    await store.create({ ...KINDS.namespace, metadata: { name: this.#manifest.namespace } });
    for (const object of this.#manifest.objects) await store.create(gated(structuredClone(object)));
    await this.graphs.start();
    const around = { store, clock, random: this.#random, logger };
    const informer = (kind: Parameters<typeof createInformer>[0]["kind"]) =>
      createInformer({ ...around, kind });
    const informers = {
      pods: informer(KINDS.pod),
      services: informer(KINDS.service),
      nodes: informer(KINDS.node),
      deployments: informer(KINDS.deployment),
      replicaSets: informer(KINDS.replicaSet),
    };
    await Promise.all(Object.values(informers).map((each) => each.synced()));
    const sites = defaultSites(NODES).map((site) => ({ ...site, ...NODE_SIZE }));
    const standIn = new StandIn({ ...around, sites, placement: "spread" }, informers);
    standIn.start();
    this.#standIn = {
      stop: async () => {
        await standIn.stop();
        await Promise.all(Object.values(informers).map((each) => each.stop()));
      },
    };
    // Remove the gate by hand until the planner has data.
    await this.#untilPlaced(true);
    await this.run(WINDOW_MS * 1.5);
    await this.#startPlugin(false);
    await this.run(5_000);
    const { items } = await store.list(KINDS.pod);
    const old = new Set(items.map(({ metadata }) => metadata.uid));
    for (const { metadata } of items)
      await store.evict({ namespace: metadata.namespace!, name: metadata.name });
    await this.#untilPlaced(false, old);
    await whilePending(this.#plugin!.stop(), () => this.#second());
    await this.#startPlugin(true);
  }

  async #startPlugin(isMoving: boolean): Promise<void> {
    const { clock, store } = this;
    const options = { allowedHosts: [], env: {}, windowMs: WINDOW_MS } as const;
    const config = schedulerConfig(options, 0, "http://127.0.0.1:1");
    const { planner, descheduler } = movingConfig(options, false, 1);
    const plugin = createSchedulerPlugin(config, {
      store,
      clock,
      random: this.#random,
      logger: this.logger,
      registry: createRegistry(),
      graphs: { ...asSource(this.graphs), start: async () => undefined, stop: async () => undefined },
      ...(planner === undefined ? {} : { planner }),
      ...(isMoving ? { descheduler, proposals: PROPOSALS } : {}),
      onMove: (progress) => void this.progress.push({ ...progress, atMs: clock.now() }),
    });
    await whilePending(plugin.start(), () => this.clock.advanceTo(this.clock.monotonic() + 100));
    this.#plugin = plugin;
  }

  async #untilPlaced(byHand: boolean, old: ReadonlySet<string | undefined> = new Set()): Promise<void> {
    const endMs = this.clock.monotonic() + PLACED_WITHIN_MS;
    const { workloads } = this.#manifest;
    for (;;) {
      await this.#second();
      if (byHand) await this.#ungate();
      const ready = this.#pods.filter((pod) => podView(pod).ready && !old.has(pod.metadata.uid));
      if (ready.length === workloads.length && this.#pods.length === workloads.length) return;
      if (this.clock.monotonic() > endMs)
        throw new Error(`all ${workloads.length} pods must be ready, ${ready.length} are`);
    }
  }

  async #ungate(): Promise<void> {
    for (const { metadata, spec } of this.#pods)
      if (looseList(spec?.schedulingGates).length > 0)
        await this.store.patch(
          { ...KINDS.pod, namespace: metadata.namespace!, name: metadata.name },
          { spec: { schedulingGates: null } },
        );
  }

  async #second(): Promise<void> {
    const fromMs = this.clock.monotonic();
    for (let at = KUBELET_MS; at <= 1_000; at += KUBELET_MS) {
      await this.clock.advanceTo(fromMs + at);
      await this.#kubelets();
      for (let turn = 0; turn < TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    const where = this.placement();
    const nodeOf = (workload: string): string | null => {
      const node = where.get(workload);
      return node === undefined || this.#dead.has(node) ? null : node;
    };
    await this.graphs.measure(this.users.second(this.nowMs, nodeOf), nodeOf);
    await new Promise((resolve) => setImmediate(resolve));
    await this.graphs.read();
  }

  async #kubelets(): Promise<void> {
    const { items } = await this.store.list(KINDS.pod);
    const nowMs = this.nowMs;
    this.#pods = items;
    for (const pod of items) {
      const { node, ready, terminating } = podView(pod);
      if (node === null || this.#dead.has(node)) continue;
      const { namespace = "default", name, uid = "" } = pod.metadata;
      const key = `${uid} ${terminating}`;
      const sinceMs = this.#seenMs.get(key) ?? nowMs;
      this.#seenMs.set(key, sinceMs);
      const ref = { ...KINDS.pod, namespace, name };
      if (terminating && nowMs - sinceMs >= ENDS_IN_MS)
        await this.store.delete(ref, { gracePeriodSeconds: 0 }).catch(() => undefined);
      else if (!terminating && !ready && nowMs - sinceMs >= STARTS_IN_MS) {
        const report = {
          hostAddress: null,
          address: "127.0.0.1",
          containerId: uid,
          restarts: 0,
          nowMs,
        } as const;
        const status = podStatus(pod, { ...report, state: "running" });
        await this.store.patch(ref, { status }, { subresource: "status" }).catch(() => undefined);
      }
    }
    this.lives.take((await this.store.list(KINDS.pod)).items, this.nowMs);
  }
}

export interface ModelProposal {
  readonly workflow: string;
  readonly savedRatio?: number | null;
  readonly pods: readonly {
    readonly workload: string | null;
    readonly node: string | null;
    readonly from?: string;
  }[];
}

/** Gates new pods of a Deployment for the planner, like the demo's webhook. */
function gated(object: KubernetesObject): KubernetesObject {
  if (object.kind !== "Deployment") return object;
  const template = looseFields(object.spec?.template);
  const withGate = { ...looseFields(template.spec), schedulingGates: [{ name: PLACEMENT_GATE }] };
  return { ...object, spec: { ...object.spec, template: { ...template, spec: withGate } } };
}

async function whilePending(promise: Promise<unknown>, step: () => Promise<void>): Promise<void> {
  const state = { isOver: false };
  const end = (): void => void (state.isOver = true);
  promise.then(end, end);
  while (!state.isOver) await step();
  await promise;
}

/** Object spread omits class methods. */
function asSource(graphs: MeasuredGraphs) {
  return {
    ready: () => graphs.ready(),
    cluster: () => graphs.cluster(),
    workflow: (namespace: string, name: string) => graphs.workflow(namespace, name),
    workflows: () => graphs.workflows(),
    clusterSnapshot: () => graphs.clusterSnapshot(),
  };
}
