// A small cluster for the descheduler in single steps, with minimal controllers.
import { hasCondition, KINDS, readMoveRecords, readRelease } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import { ReplicaSets } from "@isochrone/lab/testing";
import { seededRandom } from "@isochrone/runtime";
import { DeschedulerRig } from "@isochrone/scheduler-plugin/testing";

export type Arrival = "target" | "elsewhere" | "unready" | "unscheduled";

/** Ends the descheduler's process at its nth write: before the write, or after it with the response lost. */
interface Crash {
  readonly atWrite: number;
  readonly isDone: boolean;
}

const STEP_MS = 5_000;
const ELSEWHERE = "b2";
const NAMESPACE = "shop";
const READY = { type: "Ready", status: "True" };
const WRITES = new Set<string | symbol>(["jsonPatch", "patch", "evict", "create", "delete", "update"]);

export class SurgeWorld {
  readonly rig: DeschedulerRig;
  arrival: Arrival = "target";
  writes = 0;
  /** Minimum number of serving web pods at any time, and maximum number of web pods. */
  leastServing = Infinity;
  mostPods = 0;
  readonly #crash: Crash | null;
  readonly #replicaSets: ReplicaSets;
  #isDead = false;

  constructor(crash: Crash | null = null) {
    this.#crash = crash;
    this.rig = new DeschedulerRig({}, (store) => this.#dying(store));
    this.rig.strategy = "RollingUpdate";
    const { store, logger } = this.rig;
    this.#replicaSets = new ReplicaSets({ store, logger, random: seededRandom(1) });
  }

  async begin(): Promise<void> {
    await this.rig.begin();
  }

  async protect(minAvailable: number): Promise<void> {
    const ref = { ...KINDS.podDisruptionBudget, namespace: NAMESPACE, name: "web" };
    const spec = { minAvailable, selector: { matchLabels: { app: "web" } } };
    if ((await this.rig.store.get(ref)) !== null) await this.rig.store.patch(ref, { spec });
    else {
      const { name, namespace, ...kind } = ref;
      await this.rig.store.create({ ...kind, metadata: { name, namespace }, spec });
    }
    await this.#budget();
  }

  async step(): Promise<void> {
    await this.rig.run().catch((error: unknown) => {
      if (!this.#isDead) throw error;
    });
    if (this.#isDead) this.rig.replaceLeader();
    this.#isDead = false;
    await this.#count();
    await this.#control();
    await this.#schedule();
    await this.#runPods();
    await this.#count();
    await this.#budget();
    await this.rig.clock.advance(STEP_MS);
  }

  async steps(count: number): Promise<void> {
    for (let step = 0; step < count; step++) await this.step();
  }

  async pods(): Promise<KubernetesObject[]> {
    const { items } = await this.rig.store.list(KINDS.pod, { namespace: NAMESPACE, labels: { app: "web" } });
    return items;
  }

  async scale(replicas: number): Promise<void> {
    const spec = { replicas };
    await this.rig.store.patch({ ...KINDS.deployment, namespace: NAMESPACE, name: "web" }, { spec });
    await this.rig.store.patch({ ...KINDS.replicaSet, namespace: NAMESPACE, name: "web-1" }, { spec });
  }

  async released(): Promise<KubernetesObject | undefined> {
    return (await this.pods()).find((pod) => readRelease(pod) !== null);
  }

  async #count(): Promise<void> {
    const pods = (await this.pods()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    this.mostPods = Math.max(this.mostPods, pods.length);
    this.leastServing = Math.min(this.leastServing, pods.filter((pod) => hasCondition(pod, "Ready")).length);
  }

  async #control(): Promise<void> {
    const { items } = await this.rig.store.list(KINDS.replicaSet);
    for (const replicaSet of items) {
      const pods = (await this.rig.store.list(KINDS.pod)).items;
      await this.#replicaSets.reconcile(replicaSet, pods);
    }
  }

  async #schedule(): Promise<void> {
    const { store, clock } = this.rig;
    if (this.arrival === "unscheduled") return;
    const open = readMoveRecords((await this.rig.replicaSet("web")) ?? BLANK, clock.now());
    for (const { metadata, spec } of await this.pods()) {
      if (spec?.nodeName !== undefined) continue;
      const ref = { namespace: NAMESPACE, name: metadata.name };
      const gates = spec?.schedulingGates;
      if (gates !== undefined)
        await store.patch({ ...KINDS.pod, ...ref }, { spec: { schedulingGates: null } });
      const target = open.splice(0, 1)[0]?.to ?? ELSEWHERE;
      await store.bind(ref, this.arrival === "elsewhere" ? ELSEWHERE : target);
    }
  }

  async #runPods(): Promise<void> {
    const { store } = this.rig;
    for (const pod of await this.pods()) {
      const ref = { ...KINDS.pod, namespace: NAMESPACE, name: pod.metadata.name };
      if (pod.metadata.deletionTimestamp !== undefined) await store.delete(ref, { gracePeriodSeconds: 0 });
      else if (pod.spec?.nodeName !== undefined && this.arrival !== "unready" && !hasCondition(pod, "Ready"))
        await store.patch(
          ref,
          { status: { phase: "Running", conditions: [READY] } },
          { subresource: "status" },
        );
    }
  }

  async #budget(): Promise<void> {
    const { store } = this.rig;
    for (const { metadata, spec } of (await store.list(KINDS.podDisruptionBudget)).items) {
      const serving = (await this.pods()).filter((pod) => hasCondition(pod, "Ready")).length;
      const desiredHealthy = Number(spec?.minAvailable);
      const disruptionsAllowed = Math.max(0, serving - desiredHealthy);
      const status = { disruptionsAllowed, currentHealthy: serving, desiredHealthy };
      const ref = { ...KINDS.podDisruptionBudget, namespace: NAMESPACE, name: metadata.name };
      await store.patch(ref, { status }, { subresource: "status" });
    }
  }

  #dying(store: ClusterStore): ClusterStore {
    return new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name, target);
        if (typeof method !== "function") return method;
        return async (...parameters: unknown[]): Promise<unknown> => {
          if (this.#isDead) throw new Error("the process has ended");
          const isLast = WRITES.has(name) && ++this.writes === this.#crash?.atWrite;
          if (this.#crash === null || !isLast) return await method.apply(target, parameters);
          this.#isDead = true;
          if (this.#crash.isDone) await method.apply(target, parameters);
          throw new Error("the process ends");
        };
      },
    });
  }
}

const BLANK: KubernetesObject = { ...KINDS.replicaSet, metadata: { name: "" } };
