// A whole scheduler-plugin with orchestration on an in-memory API server. The test plays the Deployment and
// EndpointSlice controllers and the scheduler.
import { KINDS, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { links, node } from "@isochrone/placement/testing";
import { createRegistry, loadSettings, seededRandom } from "@isochrone/runtime";
import { MemoryLogger, type ManualClock } from "@isochrone/runtime/testing";
import {
  ClusterGraph,
  type ClusterGraphSnapshot,
  type Demand,
  type ReplicaReport,
  type ZoneDemand,
} from "@isochrone/topology";
import type { Registry } from "prom-client";
import { dispatchSettings } from "../dispatch/settings.ts";
import { createSchedulerPlugin, type SchedulerPlugin } from "../service.ts";
import { memberOf } from "./appgroup-rig.ts";
import { configOf, rigClock } from "./rig.ts";

const FRAME_MS = 30_000;
const NAMESPACE = "shop";
const IMAGE = "registry.example/db:1";
const NODES = [
  ["w1", "west"],
  ["w2", "west"],
  ["e1", "east"],
  ["e2", "east"],
  ["n1", "north"],
] as const;

type Row = ReplicaReport["services"][number];

export class ReplicaRig {
  readonly clock: ManualClock = rigClock();
  readonly store: ClusterStore = createMemoryStore({ clock: this.clock });
  /** Verb and object of each write by the plugin. */
  writes: string[] = [];
  rates: Record<string, Readonly<Record<string, number>>> = {};
  image: { readonly on: readonly string[]; readonly mb: number } = {
    on: NODES.map(([name]) => name),
    mb: 500,
  };
  isFresh = true;
  graph: ClusterGraphSnapshot = {
    version: 1,
    observedAt: "2026-01-01T00:00:00.000Z",
    windowSeconds: 300,
    nodes: NODES.map(([name, zone]) => node(name, 1000, 1e9, { zone })),
    links: links(["w1", "e1", 10], ["w1", "n1", 40], ["e1", "n1", 40]),
  };
  readonly #registry: Registry = createRegistry();
  #plugin: SchedulerPlugin | null = null;
  #version = 1;
  #pods = 0;

  async start(levers: readonly string[] = ["replicas", "scale", "deletion-cost"]): Promise<void> {
    const { clock } = this;
    const { dispatch } = loadSettings([dispatchSettings], { env: {}, overrides: { dispatch: { levers } } });
    for (const [name] of NODES) await this.#createNode(name);
    this.#plugin = createSchedulerPlugin(configOf({ podEvents: false }), {
      clock,
      random: seededRandom(1),
      logger: new MemoryLogger(),
      registry: this.#registry,
      graphs: {
        start: async () => undefined,
        stop: async () => undefined,
        cluster: () => new ClusterGraph(this.graph),
        clusterSnapshot: () => this.graph,
        workflow: () => null,
        ready: () => true,
      },
      store: this.#noting(),
      dispatch,
      readDemand: async () => this.#demand(),
    });
    await this.#plugin.start();
    await this.frames(1);
  }

  async stop(): Promise<void> {
    await this.#plugin?.stop();
  }

  async frames(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      if (this.isFresh) this.#version++;
      await this.clock.advance(FRAME_MS);
    }
  }

  async report(): Promise<ReplicaReport> {
    return (await this.#plugin!.app.inject("/api/v1/dispatch/replicas")).json();
  }

  async row(name = "db"): Promise<Row> {
    return (await this.report()).services.find((each) => each.name === name)!;
  }

  async wanted(name = "db"): Promise<Record<string, number>> {
    return Object.fromEntries((await this.row(name)).zones.map(({ zone, wanted }) => [zone, wanted]));
  }

  async metric(name = "db"): Promise<{ status: number; wanted: unknown }> {
    const answer = await this.#plugin!.app.inject(`/api/v1/dispatch/replicas/${NAMESPACE}/${name}`);
    return { status: answer.statusCode, wanted: looseFields(answer.json<unknown>()).wanted };
  }

  metrics(): Promise<string> {
    return this.#registry.metrics();
  }

  /** A Service and a Deployment of its name, with a replica on each of the nodes. */
  async app(
    nodes: readonly string[],
    annotations: Readonly<Record<string, string>>,
    name = "db",
  ): Promise<void> {
    await this.store.create({
      ...KINDS.service,
      metadata: {
        namespace: NAMESPACE,
        name,
        annotations: { "isochrone.dev/capacity": "100", ...annotations },
      },
      spec: { clusterIP: "10.0.0.1" },
    });
    await this.store.create({
      ...KINDS.deployment,
      metadata: { namespace: NAMESPACE, name },
      spec: { replicas: nodes.length },
    });
    for (const at of nodes) await this.addPod(at, name);
  }

  async addPod(
    at: string | null,
    app = "db",
    labels: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const name = `${app}-1-${String(this.#pods++).padStart(3, "0")}`;
    await this.store.create({
      ...KINDS.pod,
      metadata: {
        namespace: NAMESPACE,
        name,
        labels: { "pod-template-hash": "1", ...labels },
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "ReplicaSet", name: `${app}-1`, uid: `rs-${app}`, controller: true },
        ],
      },
      spec: {
        containers: [
          { name: "main", image: IMAGE, resources: { requests: { cpu: "100m", memory: "128Mi" } } },
        ],
      },
      status: { phase: "Running" },
    });
    if (at !== null) await this.store.bind({ namespace: NAMESPACE, name }, at);
    await this.endpoints(app);
    return name;
  }

  /** Scales to the Deployment's replicas: new pods go to `at`, the lowest deletion costs are deleted. */
  async follow(at: string, app = "db"): Promise<string[]> {
    const deployment = await this.store.get({ ...KINDS.deployment, namespace: NAMESPACE, name: app });
    const wanted = Number(deployment!.spec!.replicas);
    for (let more = (await this.pods(app)).length; more < wanted; more++) await this.addPod(at, app);
    const pods = await this.pods(app);
    const costOf = ({ metadata }: KubernetesObject): number =>
      Number(metadata.annotations?.["controller.kubernetes.io/pod-deletion-cost"] ?? 0);
    const gone = pods.toSorted((a, b) => costOf(a) - costOf(b)).slice(0, pods.length - wanted);
    for (const { metadata } of gone)
      await this.store.delete(
        { ...KINDS.pod, namespace: NAMESPACE, name: metadata.name },
        { gracePeriodSeconds: 0 },
      );
    await this.endpoints(app);
    return gone.map(({ spec }) => String(spec?.nodeName));
  }

  async pods(app = "db"): Promise<KubernetesObject[]> {
    const { items } = await this.store.list(KINDS.pod, { namespace: NAMESPACE });
    return items.filter(({ metadata }) => metadata.name.startsWith(`${app}-`));
  }

  async endpoints(app = "db"): Promise<void> {
    const zones = new Map<string, string>(NODES);
    const pods = (await this.pods(app)).filter(({ spec }) => spec?.nodeName !== undefined);
    const slice: KubernetesObject = {
      ...KINDS.endpointSlice,
      metadata: {
        namespace: NAMESPACE,
        name: `${app}-1`,
        labels: { "kubernetes.io/service-name": app },
      },
      addressType: "IPv4",
      endpoints: pods.map(({ metadata: { name }, spec }, at) => ({
        addresses: [`10.1.0.${at}`],
        conditions: { ready: true },
        zone: zones.get(String(spec?.nodeName)),
        targetRef: { kind: "Pod", name, namespace: NAMESPACE },
      })),
    };
    const ref = { ...KINDS.endpointSlice, namespace: NAMESPACE, name: `${app}-1` };
    if ((await this.store.get(ref)) === null) await this.store.create(slice);
    else await this.store.update(slice);
  }

  async annotate(annotations: Readonly<Record<string, string | null>>, name = "db"): Promise<void> {
    await this.store.patch({ ...KINDS.service, namespace: NAMESPACE, name }, { metadata: { annotations } });
  }

  async events(): Promise<string[]> {
    await this.clock.advance(0);
    const { items } = await this.store.list(KINDS.event, { namespace: NAMESPACE });
    return items.map((event) => `${String(event.reason)}: ${String(event.note)}`);
  }

  async replicas(app = "db"): Promise<unknown> {
    return (await this.store.get({ ...KINDS.deployment, namespace: NAMESPACE, name: app }))?.spec?.replicas;
  }

  async #createNode(name: string): Promise<void> {
    const { on, mb } = this.image;
    const images = on.includes(name)
      ? [{ names: ["registry.example/db@sha256:0", IMAGE], sizeBytes: mb * 1e6 }]
      : [];
    await this.store.create({ ...KINDS.node, metadata: { name }, status: { images } });
  }

  #demand(): Demand {
    const services = Object.entries(this.rates).map(([name, zones]) => ({
      namespace: NAMESPACE,
      name,
      deadlineMs: null,
      zones: Object.entries(zones).map(([zone, requestsPerSecond]): ZoneDemand => ({
        zone,
        requestsPerSecond,
        errorRatio: 0,
        inTimeRatio: null,
        latencyMs: { p50: 5, p90: 9, p99: 12 },
        ageSeconds: 1,
      })),
    }));
    return { version: this.#version, observedAt: this.graph.observedAt, windowSeconds: 300, services };
  }

  #noting(): ClusterStore {
    const note = (act: string, ref: { readonly kind: string; readonly name: string }): void => {
      if (ref.kind !== "Event") this.writes.push(`${act} ${ref.kind} ${ref.name}`);
    };
    return new Proxy(this.store, {
      get: (store, name) => {
        if (name === "patch")
          return (...args: Parameters<ClusterStore["patch"]>) => {
            note("patch", args[0]);
            return store.patch(...args);
          };
        if (name === "scale")
          return (...args: Parameters<ClusterStore["scale"]>) => {
            note(`scale to ${args[1].to}`, args[0]);
            return store.scale(...args);
          };
        return memberOf(store, name);
      },
    });
  }
}
