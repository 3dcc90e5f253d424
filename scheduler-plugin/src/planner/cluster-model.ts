// The cluster as kube-scheduler's filters see it, updated from watches and from recent plans.
import { keyOf, moveOwnerOf } from "@isochrone/kubernetes";
import type { InformerChange, KubernetesObject, LandingNode } from "@isochrone/kubernetes";
import { SchedulingModel } from "@isochrone/placement";
import type { ObjectSource } from "../adapters/cluster-objects.ts";
import { isGone, placementOf } from "../adapters/observed-pod.ts";
import { GoingPods } from "./going-pods.ts";

export interface Rejection {
  readonly plugin: string;
  readonly message: string;
}

interface Held {
  readonly pod: KubernetesObject;
  readonly node: string;
  readonly isPlaced: boolean;
}

interface PodOfController {
  readonly key: string;
  readonly pod: KubernetesObject;
  readonly node: string | null;
  readonly isGoing: boolean;
}

interface ClusterModelOptions {
  readonly isReplaced?: (pod: KubernetesObject) => boolean;
  /** Monotonic. @default constant */
  readonly nowMs?: () => number;
}

const HOSTNAME = "kubernetes.io/hostname";
const LOOKED_AT = 64;
/** One takes the pod if the planned one no longer does; more make it slower. */
const LANDING_NODES = 3;
/** A model of so many nodes and pods is made in some milliseconds. */
const QUICKLY_MADE = 1_000;

export class ClusterModel {
  readonly #source: ObjectSource;
  readonly #placed = new Map<string, Held>();
  /** Pods of plans being released, by key; watch events replace them. */
  readonly #assumed = new Map<string, Held>();
  readonly #leaving = new Map<string, Held>();
  readonly #ofController = new Map<string, Map<string, KubernetesObject>>();
  readonly #controllerOf = new Map<string, string>();
  readonly #going: GoingPods;
  /** Updated with pods even while stale. */
  #model: SchedulingModel | null = null;
  #isStale = false;

  constructor(source: ObjectSource, options: ClusterModelOptions = {}) {
    this.#source = source;
    this.#going = new GoingPods(options);
  }

  get isSynced(): boolean {
    return this.#source.isSynced;
  }

  /** Live: its answers change with the cluster. */
  get model(): SchedulingModel {
    if (this.#model === null || this.#isStale) {
      this.#model = this.#build(this.#model);
      this.#isStale = false;
    }
    return this.#model;
  }

  get isQuick(): boolean {
    return (
      (this.#model !== null && !this.#isStale) ||
      this.#source.lists().nodes.length + this.#placed.size <= QUICKLY_MADE
    );
  }

  rebuild(): void {
    this.#isStale = true;
  }

  /** Reserves the planned node until the cluster shows the pod's real one. */
  assume(pod: KubernetesObject, node: string): void {
    const key = keyOf(pod);
    this.#assumed.set(key, { pod, node, isPlaced: true });
    this.#place(key);
  }

  withdraw(podKey: string): void {
    this.#assumed.delete(podKey);
    this.#place(podKey);
  }

  *leaving(): Generator<KubernetesObject> {
    for (const { pod, node } of this.#leaving.values())
      if (this.model.node(node)?.noTarget === null) yield pod;
  }

  isStaying(podKey: string): boolean {
    const held = this.#placed.get(podKey);
    return held?.isPlaced === true && !this.#isGoing(held);
  }

  /**
   * Future node of a pod: null if it goes, is gone or has none yet; undefined if never seen.
   * @param podKey namespace/name
   */
  nodeToBe(podKey: string): string | null | undefined {
    const held = this.#placed.get(podKey);
    if (held?.isPlaced === true) return this.#isGoing(held) ? null : held.node;
    return held === undefined && !this.#going.hasGone(podKey) ? undefined : null;
  }

  isGoing(podKey: string): boolean {
    const held = this.#placed.get(podKey);
    return held === undefined ? this.#going.hasGone(podKey) : this.#isGoing(held);
  }

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

  hasPlaced(controllerUid: string): boolean {
    for (const key of this.#ofController.get(controllerUid)?.keys() ?? [])
      if (this.#placed.get(key)?.isPlaced === true) return true;
    return false;
  }

  /**
   * Applies a watch event.
   * @param isInFlight released by plan: the plan counts until the pod is bound
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

  /** Why the node would reject the pod in release now; null if it would not. */
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

  *#around(named: readonly string[]): Generator<string> {
    yield* named;
    const { nodes } = this.model;
    const from = this.model.node(named[0] ?? "")?.index ?? 0;
    for (let step = 1; step < nodes.length && step <= LOOKED_AT; step++) {
      const { name } = nodes[(from + step) % nodes.length]!;
      if (!named.includes(name)) yield name;
    }
  }

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
  // Pod and node events arrive in any order.
  if (model.node(node) === undefined) return;
  if (isPlaced) model.place(pod, node);
  else model.nominate(pod, node);
}

function isLeaving({ pod }: Held): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

/** False for a pod that finished, or was deleted before it had a node. */
function exists({ type, object }: InformerChange): boolean {
  return type !== "deleted" && (!isGone(object) || heldBy(object)?.isPlaced === true);
}

/** Null if it holds no place. A terminating pod holds its place until it is gone. */
function heldBy(pod: KubernetesObject): Held | null {
  if (isGone(pod) && pod.metadata.deletionTimestamp === undefined) return null;
  const placement = placementOf(pod);
  return placement === null ? null : { pod, node: placement.node, isPlaced: placement.bound };
}

/** Filters ignore phase and conditions. */
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
