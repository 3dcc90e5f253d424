import { KINDS, SharedLeadership } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { createMemoryStore } from "@isochrone/kubernetes/memory";
import { composeServices, createRegistry, seededRandom } from "@isochrone/runtime";
import type { Service } from "@isochrone/runtime";
import { ManualClock, MemoryLogger } from "@isochrone/runtime/testing";
import type { Registry } from "prom-client";
import { ClusterPods } from "../adapters/cluster-pods.ts";
import { createAppGroupController } from "../appgroup/controller.ts";
import type { AppGroupControllerConfig } from "../appgroup/controller.ts";
import { SCHEDULER_LEASE } from "../leadership/terms.ts";

export const APP_GROUP_CONFIG: AppGroupControllerConfig = {
  appGroupStatus: "isochrone",
  appGroupIntervalMs: 5_000,
  replicaName: null,
};

export const A1: Readonly<Record<string, string>> = { P1: "P2", P2: "P3", P3: "" };

/** The name differs from the selector, as in upstream's manifests. */
export function workload(selector: string): Record<string, unknown> {
  return {
    kind: "Deployment",
    name: `${selector}-deployment`,
    selector,
    apiVersion: "apps/v1",
    namespace: "default",
  };
}

/** `{P1: "P2 P3"}`: P1 depends on P2 and P3. */
export function specOf(
  edges: Readonly<Record<string, string>>,
  algorithm = "KahnSort",
): Record<string, unknown> {
  const dependency = (selector: string): object => ({
    workload: workload(selector),
    minBandwidth: "100Mi",
    maxNetworkCost: 15,
  });
  return {
    numMembers: Object.keys(edges).length,
    topologySortingAlgorithm: algorithm,
    workloads: Object.entries(edges).map(([selector, on]) => ({
      workload: workload(selector),
      ...(on === "" ? {} : { dependencies: on.split(" ").map(dependency) }),
    })),
  };
}

export function pod(name: string, group: string, phase = "Running", namespace = "default"): KubernetesObject {
  const labels = { "appgroup.diktyo.x-k8s.io": group, "appgroup.diktyo.x-k8s.io.workload": "P1" };
  return {
    ...KINDS.pod,
    metadata: { namespace, name, labels },
    spec: { containers: [{ name: "app", image: "app" }] },
    status: { phase },
  };
}

export function patchedStore(store: ClusterStore, patch: ClusterStore["patch"]): ClusterStore {
  return new Proxy(store, {
    get: (target, name) => (name === "patch" ? patch : memberOf(target, name)),
  });
}

export function memberOf(store: ClusterStore, name: string | symbol): unknown {
  const member: unknown = Reflect.get(store, name, store);
  return typeof member === "function" ? (member as () => unknown).bind(store) : member;
}

/** A memory store that counts writes of AppGroups and injects faults. */
class WatchedStore {
  readonly store: ClusterStore;
  readonly through: ClusterStore;
  writes = 0;
  /** Called before each write of an AppGroup; may throw its error. */
  beforeWrite: ((name: string) => Promise<void> | void) | null = null;

  constructor(clock: ManualClock) {
    this.store = createMemoryStore({ clock });
    this.through = patchedStore(this.store, async (...args) => {
      if (args[0].kind === "AppGroup") {
        this.writes += 1;
        await this.beforeWrite?.(args[0].name);
      }
      return await this.store.patch(...args);
    });
  }
}

export class AppGroupRig {
  readonly clock = new ManualClock();
  readonly watched = new WatchedStore(this.clock);
  readonly store: ClusterStore = this.watched.store;
  registry: Registry = createRegistry();
  controller: Service | null = null;
  readonly #running: Service[] = [];

  create(
    overrides: Partial<AppGroupControllerConfig> = {},
    through: ClusterStore = this.watched.through,
  ): Service {
    const { clock } = this;
    const registry = createRegistry();
    const around = { clock, random: seededRandom(1), logger: new MemoryLogger({ clock }) };
    const pods = new ClusterPods({ ...around, store: through });
    void pods.start();
    const config = { ...APP_GROUP_CONFIG, ...overrides };
    const candidate = { ...around, store: through, namespace: "isochrone", replica: config.replicaName };
    const leadership = new SharedLeadership(candidate, SCHEDULER_LEASE);
    const controller = createAppGroupController(config, {
      ...around,
      store: through,
      pods,
      registry,
      leadership,
    });
    const service = composeServices([
      { name: "election", service: leadership },
      { name: "controller", service: controller! },
    ]);
    this.registry = registry;
    this.#running.push(service, pods);
    return service;
  }

  async start(overrides: Partial<AppGroupControllerConfig> = {}): Promise<void> {
    this.controller = this.create(overrides);
    await this.controller.start();
    await this.clock.advance(500);
  }

  async stop(): Promise<void> {
    const stopped = Promise.all(this.#running.splice(0).map((service) => service.stop()));
    await this.clock.advance(20_000);
    await stopped;
  }

  async group(
    spec: Record<string, unknown> = specOf(A1),
    name = "a1",
    namespace = "default",
  ): Promise<KubernetesObject> {
    return await this.store.create({ ...KINDS.appGroup, metadata: { namespace, name }, spec });
  }

  async read(name = "a1", namespace = "default"): Promise<KubernetesObject> {
    return (await this.store.get({ ...KINDS.appGroup, namespace, name }))!;
  }

  async patch(change: Record<string, unknown>): Promise<void> {
    await this.store.patch({ ...KINDS.appGroup, namespace: "default", name: "a1" }, change);
  }

  async indices(name?: string): Promise<Record<string, number>> {
    const { status = {} } = await this.read(name);
    const order = (status["topologyOrder"] ?? []) as { workload: { selector: string }; index: number }[];
    return Object.fromEntries(order.map((entry) => [entry.workload.selector, entry.index]));
  }

  /** All Events after some seconds, sorted. */
  async reasons(): Promise<string[]> {
    await this.clock.advance(6_000);
    const { items } = await this.store.list(KINDS.event);
    return items.map(({ reason, note }) => `${String(reason)}: ${String(note)}`).sort();
  }

  async metric(name: string): Promise<string[]> {
    return (await this.registry.metrics()).split("\n").filter((line) => line.startsWith(name));
  }
}
