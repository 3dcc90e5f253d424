// The cluster as kube-scheduler's filters see it, kept up to date by what the API server says, and by what
// was planned a moment ago.
import { keyOf, moveOwnerOf } from "@isochrone/kubernetes";
import type { InformerChange, KubernetesObject, LandingNode } from "@isochrone/kubernetes";
import { SchedulingModel } from "@isochrone/placement";
import type { ObjectSource } from "../adapters/cluster-objects.ts";
import { isGone, placementOf } from "../adapters/observed-pod.ts";
import { GoingPods } from "./going-pods.ts";

/** Why kube-scheduler would not let a pod onto a node. */
export interface Rejection {
  readonly plugin: string;
  readonly message: string;
}

interface Held {
  readonly pod: KubernetesObject;
  readonly node: string;
  /** False for a nomination. */
  readonly isPlaced: boolean;
}

/** A pod of a controller. */
interface PodOfController {
  /** namespace/name */
  readonly key: string;
  readonly pod: KubernetesObject;
  /** null: it has none yet. */
  readonly node: string | null;
  readonly isGoing: boolean;
}

/** Who goes although its object doesn't say so yet. */
interface ClusterModelOptions {
  /** Whether its workload is replacing the pod. @default none is replaced */
  readonly isReplaced?: (pod: KubernetesObject) => boolean;
  /** Monotonic milliseconds. @default time stands still */
  readonly nowMs?: () => number;
}

const HOSTNAME = "kubernetes.io/hostname";
/** Nodes that are looked at for a pod beyond those that were named for it. */
const LOOKED_AT = 64;
/** One takes the pod if the planned one no longer does; more make it slower. */
const LANDING_NODES = 3;
/** A model of so many nodes and pods is made in some milliseconds. */
const QUICKLY_MADE = 1_000;

export class ClusterModel {
  readonly #source: ObjectSource;
  /** Pods that hold a place: bound, or nominated by whomever; by key. */
  readonly #placed = new Map<string, Held>();
  /** Pods of plans that are being carried out, by key; what the cluster shows replaces them. */
  readonly #assumed = new Map<string, Held>();
  /** Bound pods that are being deleted, by key. */
  readonly #leaving = new Map<string, Held>();
  /** Pods that exist, bound or not, by the uid of their controller and by key. */
  readonly #ofController = new Map<string, Map<string, KubernetesObject>>();
  readonly #controllerOf = new Map<string, string>();
  readonly #going: GoingPods;
  /** It is kept up to date with the pods also while it is stale. */
  #model: SchedulingModel | null = null;
  /** Nodes, volumes or namespaces have changed since it was made. */
  #isStale = false;

  constructor(source: ObjectSource, options: ClusterModelOptions = {}) {
    this.#source = source;
    this.#going = new GoingPods(options);
  }

  get isSynced(): boolean {
    return this.#source.isSynced;
  }

  /** Of now; its answers change with the cluster. */
  get model(): SchedulingModel {
    if (this.#model === null || this.#isStale) {
      this.#model = this.#build(this.#model);
      this.#isStale = false;
    }
    return this.#model;
  }

  /** Whether it can be asked without a pause: it is made already, or small. */
  get isQuick(): boolean {
    return (
      (this.#model !== null && !this.#isStale) ||
      this.#source.lists().nodes.length + this.#placed.size <= QUICKLY_MADE
    );
  }

  /** Nodes, volumes or namespaces have changed: the model is made anew when it is asked for. */
  rebuild(): void {
    this.#isStale = true;
  }

  /** Planned to that node: its place is taken until the cluster shows where the pod really is. */
  assume(pod: KubernetesObject, node: string): void {
    const key = keyOf(pod);
    this.#assumed.set(key, { pod, node, isPlaced: true });
    this.#place(key);
  }

  /** The plan isn't carried out. */
  withdraw(podKey: string): void {
    this.#assumed.delete(podKey);
    this.#place(podKey);
  }

  /** Pods whose room others will have soon: bound to nodes that take pods, and being deleted. */
  *leaving(): Generator<KubernetesObject> {
    for (const { pod, node } of this.#leaving.values())
      if (this.model.node(node)?.noTarget === null) yield pod;
  }

  /** Whether the pod is bound, and isn't about to go. @param podKey namespace/name */
  isStaying(podKey: string): boolean {
    const held = this.#placed.get(podKey);
    return held?.isPlaced === true && !this.#isGoing(held);
  }

  /**
   * Node of a pod as it will be: null for a pod that is about to go, has gone, or has no node yet; undefined
   * for a pod that was never seen.
   * @param podKey namespace/name
   */
  nodeToBe(podKey: string): string | null | undefined {
    const held = this.#placed.get(podKey);
    if (held?.isPlaced === true) return this.#isGoing(held) ? null : held.node;
    return held === undefined && !this.#going.hasGone(podKey) ? undefined : null;
  }

  /** Whether the pod is about to go, or has gone lately. @param podKey namespace/name */
  isGoing(podKey: string): boolean {
    const held = this.#placed.get(podKey);
    return held === undefined ? this.#going.hasGone(podKey) : this.#isGoing(held);
  }

  /** Pods of the controller that exist, and those that are on their way to be created. */
  *podsOf(controllerUid: string): Generator<PodOfController> {
    const existing = this.#ofController.get(controllerUid);
    for (const [key, pod] of existing ?? []) {
      const held = this.#placed.get(key);
      yield {
        key,
        pod,
        node: held?.isPlaced === true ? held.node : null,
        isGoing: held === undefined ? this.#going.isGoing(pod, undefined) : this.#isGoing(held),
      };
    }
    for (const [key, { pod, node }] of this.#assumed)
      if (moveOwnerOf(pod)?.uid === controllerUid && existing?.has(key) !== true)
        yield { key, pod, node, isGoing: false };
  }

  /** Whether any pod of that controller is bound. */
  hasPlaced(controllerUid: string): boolean {
    for (const key of this.#ofController.get(controllerUid)?.keys() ?? [])
      if (this.#placed.get(key)?.isPlaced === true) return true;
    return false;
  }

  /**
   * What the cluster shows of a pod.
   * @param isInFlight it is being released by plan: until it is bound the plan counts
   */
  takePod({ type, object }: InformerChange, isInFlight: boolean): void {
    const key = keyOf(object);
    const now = type === "deleted" ? null : heldBy(object);
    const before = this.#placed.get(key) ?? null;
    const wasAssumed = this.#assumed.has(key);
    if (type === "deleted" || now?.isPlaced === true || !isInFlight) this.#assumed.delete(key);
    this.#keepByController(key, exists({ type, object }) ? object : null);
    this.#going.take({ type, object });
    if (now === null) this.#placed.delete(key);
    else this.#placed.set(key, now);
    this.#keepLeaving(key, now);
    if (wasAssumed || !isEquallyCounted(before, now)) this.#place(key);
  }

  /** Why the pod, which is being released, would not be let onto that node now; null when it would. */
  verdict(podKey: string, node: string): Rejection | null {
    const pod = this.#assumed.get(podKey)?.pod;
    if (pod === undefined) return null;
    const putBack = this.model.without([podKey]);
    try {
      return this.model.verdict(pod, node);
    } finally {
      putBack();
    }
  }

  /**
   * Returns {@link LANDING_NODES} nodes that accept the pod, which is being released: the planned one, then
   * named ones, then others. Empty if there are fewer.
   */
  landingNodes(podKey: string, named: readonly string[]): LandingNode[] {
    const pod = this.#assumed.get(podKey)?.pod;
    if (pod === undefined) return [];
    const { model } = this;
    const found: LandingNode[] = [];
    const putBack = model.without([podKey]);
    try {
      for (const name of this.#around(named)) {
        const node = model.node(name);
        if (node === undefined || node.noTarget !== null || model.verdict(pod, name) !== null) continue;
        found.push({ name, hostname: node.labels[HOSTNAME] ?? null });
        if (found.length === LANDING_NODES) return found;
      }
      return [];
    } finally {
      putBack();
    }
  }

  /** The named nodes, then some that follow the first of them in the list of all. */
  *#around(named: readonly string[]): Generator<string> {
    yield* named;
    const { nodes } = this.model;
    const from = this.model.node(named[0] ?? "")?.index ?? 0;
    for (let step = 1; step < nodes.length && step <= LOOKED_AT; step++) {
      const { name } = nodes[(from + step) % nodes.length]!;
      if (!named.includes(name)) yield name;
    }
  }

  /** @param pod null: it doesn't exist any more */
  #keepByController(key: string, pod: KubernetesObject | null): void {
    const uid = this.#controllerOf.get(key);
    const next = pod === null ? undefined : moveOwnerOf(pod)?.uid;
    if (uid !== undefined && uid !== next) {
      const pods = this.#ofController.get(uid)!;
      pods.delete(key);
      if (pods.size === 0) this.#ofController.delete(uid);
      this.#controllerOf.delete(key);
    }
    if (pod === null || next === undefined) return;
    this.#controllerOf.set(key, next);
    const pods = this.#ofController.get(next);
    if (pods === undefined) this.#ofController.set(next, new Map([[key, pod]]));
    else pods.set(key, pod);
  }

  #keepLeaving(key: string, held: Held | null): void {
    if (held?.isPlaced === true && isLeaving(held)) this.#leaving.set(key, held);
    else this.#leaving.delete(key);
  }

  #isGoing({ pod, node }: Held): boolean {
    return this.#going.isGoing(pod, this.model.node(node));
  }

  #place(key: string): void {
    if (this.#model === null) return;
    this.#model.remove(key);
    const held = this.#assumed.get(key) ?? this.#placed.get(key);
    if (held !== undefined) put(this.#model, held);
  }

  #build(before: SchedulingModel | null): SchedulingModel {
    const lists = this.#source.lists();
    const model = before === null ? SchedulingModel.of({ ...lists, pods: [] }) : before.on(lists);
    for (const [key, held] of this.#assumed) if (model.nodeOf(key) === undefined) put(model, held);
    for (const [key, held] of this.#placed) if (model.nodeOf(key) === undefined) put(model, held);
    return model;
  }
}

function put(model: SchedulingModel, { pod, node, isPlaced }: Held): void {
  // Pods are shown on nodes before the nodes are, and after them.
  if (model.node(node) === undefined) return;
  if (isPlaced) model.place(pod, node);
  else model.nominate(pod, node);
}

function isLeaving({ pod }: Held): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/** False for a pod that has finished, or is deleted before it had a node. */
function exists({ type, object }: InformerChange): boolean {
  return type !== "deleted" && (!isGone(object) || heldBy(object)?.isPlaced === true);
}

/** null for a pod that holds no place. One that is being deleted holds its own until it is gone. */
function heldBy(pod: KubernetesObject): Held | null {
  if (isGone(pod) && pod.metadata.deletionTimestamp === undefined) return null;
  const placement = placementOf(pod);
  return placement === null ? null : { pod, node: placement.node, isPlaced: placement.bound };
}

/** Filters count neither phase nor conditions. */
function isEquallyCounted(before: Held | null, now: Held | null): boolean {
  if (before === null || now === null) return before === now;
  if (before.node !== now.node || before.isPlaced !== now.isPlaced) return false;
  const [a, b] = [before.pod, now.pod];
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.deletionTimestamp === b.metadata.deletionTimestamp &&
    JSON.stringify([a.metadata.labels, a.spec]) === JSON.stringify([b.metadata.labels, b.spec])
  );
}
