// The leader's zone-weight rounds on an in-memory API server that calls the webhook for EndpointSlices.
import { KINDS, zonesHinted, type ClusterStore, type KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { links, node } from "@isochrone/placement/testing";
import { createRegistry, seededRandom } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import {
  ClusterGraph,
  type ClusterGraphSnapshot,
  type Demand,
  type ServiceTraffic,
  type ZoneDemand,
} from "@isochrone/topology";
import { DemandReader } from "../dispatch/demand-reader.ts";
import { DispatchKeeper, type WritingLever } from "../dispatch/keeper.ts";
import { HintsLever, IstioLever, type Lever } from "../dispatch/levers.ts";
import { createDispatchMetrics } from "../dispatch/metrics.ts";
import { PLAN_ANNOTATION, readPlan } from "../dispatch/objects/plan-annotation.ts";
import { ServiceFollower } from "../dispatch/service-follower.ts";
import { SliceAdmission } from "../dispatch/slice-admission.ts";

export const ROUND_MS = 30_000;
const NODES = [
  ["w1", "west"],
  ["e1", "east"],
  ["n1", "north"],
] as const;

export class DispatchRig {
  readonly clock = new ManualClock();
  readonly store: ClusterStore = createMemoryStore({ clock: this.clock });
  readonly events: { readonly name: string; readonly reason: string; readonly note: string }[] = [];
  /** Kind and name of each write by the leader. */
  writes: string[] = [];
  isWebhookThere = true;
  rates: Readonly<Record<string, number>> = { west: 60, east: 60, north: 60 };
  graph: ClusterGraphSnapshot = {
    version: 1,
    observedAt: "2026-01-01T00:00:00.000Z",
    windowSeconds: 300,
    nodes: NODES.map(([name, zone]) => node(name, 1000, 1e9, { zone, region: "r" })),
    links: links(["w1", "e1", 10], ["w1", "n1", 40], ["e1", "n1", 40]),
  };
  readonly #registry = createRegistry();
  readonly #metrics = createDispatchMetrics(this.#registry);
  #version = 1;
  #follower: ServiceFollower | null = null;
  #keeper: DispatchKeeper | null = null;
  #asked: ClusterStore | null = null;

  get asked(): ClusterStore {
    return this.#asked!;
  }

  start(levers: readonly WritingLever[] = ["hints", "istio"]): void {
    const { clock, store } = this;
    const around = { clock, random: seededRandom(1), logger: new MemoryLogger() };
    const follower = new ServiceFollower({ store, followsRules: levers.includes("istio"), ...around });
    void follower.start();
    const asked = this.#askingStore(new SliceAdmission(follower, this.#metrics));
    const all = new Map<WritingLever, Lever>([
      ["hints", new HintsLever(asked, follower)],
      ["istio", new IstioLever(asked, follower)],
    ]);
    this.#follower = follower;
    this.#asked = asked;
    this.#keeper = new DispatchKeeper({
      ...around,
      follower,
      demand: new DemandReader(async () => this.#demand(), clock),
      graphs: {
        start: async () => undefined,
        stop: async () => undefined,
        cluster: () => new ClusterGraph(this.graph),
        clusterSnapshot: () => this.graph,
        workflow: () => null,
        ready: () => true,
      },
      levers: new Map(levers.map((lever) => [lever, all.get(lever)!])),
      events: {
        event: (regarding, { reason, note }) => {
          const { name } = "metadata" in regarding ? regarding.metadata : regarding;
          this.events.push({ name, reason, note });
        },
        counts: () => ({ reported: 0, writes: 0, dropped: 0 }),
        stop: async () => undefined,
      },
      metrics: this.#metrics,
      roundMs: ROUND_MS,
    });
  }

  get traffic(): ServiceTraffic {
    return this.#keeper!.traffic()[0]!;
  }

  async stop(): Promise<void> {
    await this.#keeper?.stop();
    await this.#follower?.stop();
  }

  async rounds(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.#version++;
      await this.clock.advance(ROUND_MS);
    }
  }

  async hints(slice: string): Promise<string[]> {
    const found = await this.store.get({ ...KINDS.endpointSlice, namespace: "shop", name: slice });
    return zonesHinted(found!).map((zones) => zones.join(" "));
  }

  async planOf(slice: string): Promise<ReturnType<typeof readPlan>> {
    const found = await this.store.get({ ...KINDS.endpointSlice, namespace: "shop", name: slice });
    return readPlan(found!.metadata.annotations?.[PLAN_ANNOTATION]);
  }

  async metric(state: string): Promise<number> {
    const { values } = await this.#metrics.services.get();
    return values.filter(({ labels }) => labels.state === state).reduce((sum, { value }) => sum + value, 0);
  }

  #demand(): Demand {
    const zones = Object.entries(this.rates).map(([zone, requestsPerSecond]): ZoneDemand => ({
      zone,
      requestsPerSecond,
      errorRatio: 0,
      inTimeRatio: null,
      latencyMs: { p50: 5, p90: 9, p99: 12 },
      ageSeconds: 1,
    }));
    const services = zones.length === 0 ? [] : [{ namespace: "shop", name: "db", deadlineMs: null, zones }];
    return { version: this.#version, observedAt: this.graph.observedAt, windowSeconds: 300, services };
  }

  #askingStore(admission: SliceAdmission): ClusterStore {
    const { store } = this;
    const mutated = async (write: () => Promise<KubernetesObject>, before: KubernetesObject | null) => {
      const object = await write();
      this.writes.push(`${object.kind} ${object.metadata.name}`);
      if (object.kind !== "EndpointSlice" || !this.isWebhookThere) return object;
      const patch = admission.patch({ object, oldObject: before });
      return patch.length === 0 ? object : await store.jsonPatch(refOf(object), patch);
    };
    return Object.assign(Object.create(store) as ClusterStore, {
      patch: async (...[ref, patch, options]: Parameters<ClusterStore["patch"]>) =>
        mutated(async () => store.patch(ref, patch, options), await store.get(ref)),
      jsonPatch: async (...[ref, patch, options]: Parameters<ClusterStore["jsonPatch"]>) =>
        mutated(async () => store.jsonPatch(ref, patch, options), await store.get(ref)),
      update: async (object: KubernetesObject) =>
        mutated(async () => store.update(object), await store.get(refOf(object))),
      create: async (object: KubernetesObject) => mutated(async () => store.create(object), null),
      apply: async (...[object, options]: Parameters<ClusterStore["apply"]>) =>
        mutated(async () => store.apply(object, options), null),
      delete: async (...[ref, options]: Parameters<ClusterStore["delete"]>) => {
        this.writes.push(`delete ${ref.kind} ${ref.name}`);
        await store.delete(ref, options);
      },
    });
  }
}

export function service(
  annotations: Record<string, string>,
  spec: Record<string, unknown> = {},
): KubernetesObject {
  return {
    ...KINDS.service,
    metadata: { namespace: "shop", name: "db", annotations },
    spec: { clusterIP: "10.0.0.1", ...spec },
  };
}

/** A slice of shop/db with one ready endpoint per zone. */
export function slice(
  name: string,
  zones: readonly (string | null)[],
  labels: Record<string, string> = {},
): KubernetesObject {
  return {
    ...KINDS.endpointSlice,
    metadata: {
      namespace: "shop",
      name,
      labels: {
        "kubernetes.io/service-name": "db",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        ...labels,
      },
    },
    addressType: "IPv4",
    endpoints: zones.map((zone, i) => ({
      addresses: [`10.1.${name.length}.${i}`],
      conditions: { ready: true },
      ...(zone === null ? {} : { zone }),
    })),
  };
}

export function refOf({ apiVersion, kind, metadata: { name, namespace = "shop" } }: KubernetesObject) {
  return { apiVersion, kind, name, namespace };
}
