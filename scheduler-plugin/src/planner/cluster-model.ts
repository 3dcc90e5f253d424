// The cluster as kube-scheduler's filters see it, kept up to date by what the API server says, and by what
// was planned a moment ago.
import { keyOf, moveOwnerOf } from "@isochrone/kubernetes";
import type { InformerChange, KubernetesObject, LandingNode } from "@isochrone/kubernetes";
import { SchedulingModel } from "@isochrone/placement";
import type { ObjectSource } from "../adapters/cluster-objects.ts";
import { isGone, placementOf } from "../adapters/observed-pod.ts";

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

const HOSTNAME = "kubernetes.io/hostname";
/** Nodes that are looked at for a pod beyond those that were named for it. */
const LOOKED_AT = 64;
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
  /** How many pods that are bound each controller has, by its uid. */
  readonly #ofController = new Map<string, number>();
  /** It is kept up to date with the pods also while it is stale. */
  #model: SchedulingModel | null = null;
  /** Nodes, volumes or namespaces have changed since it was made. */
  #isStale = false;

  constructor(source: ObjectSource) {
    this.#source = source;
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
    return held?.isPlaced === true && !isLeaving(held);
  }

  /** Whether any pod of that controller is bound. */
  hasPlaced(controllerUid: string): boolean {
    return this.#ofController.has(controllerUid);
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
    this.#count(before, -1);
    this.#count(now, 1);
    if (now === null) this.#placed.delete(key);
    else this.#placed.set(key, now);
    if (now?.isPlaced === true && isLeaving(now)) this.#leaving.set(key, now);
    else this.#leaving.delete(key);
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
   * So many nodes that would take the pod, which is being released: the planned one, those that were named,
   * and others. Empty where that few aren't found.
   */
  landingNodes(podKey: string, named: readonly string[], count: number): LandingNode[] {
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
        if (found.length === count) return found;
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

  #count(held: Held | null, pods: 1 | -1): void {
    const uid = held?.isPlaced === true ? moveOwnerOf(held.pod)?.uid : undefined;
    if (uid === undefined) return;
    const count = (this.#ofController.get(uid) ?? 0) + pods;
    if (count > 0) this.#ofController.set(uid, count);
    else this.#ofController.delete(uid);
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
