import type { InformerChange, KubernetesObject } from "@isochrone/kubernetes";
import { keysOf } from "@isochrone/primitives";
import { compareText } from "../domain/compare.ts";
import type { ClusterNodes, NodeState } from "../domain/cluster-state.ts";

/** Nodes parsed from their objects. Heartbeats change an object often, but no parsed field. */
export class NodeIndex {
  readonly #read: (object: KubernetesObject) => NodeState;
  readonly #nodes = new Map<string, NodeState>();
  readonly #leaving = new Set<string>();
  #current: ClusterNodes | null = null;

  constructor(read: (object: KubernetesObject) => NodeState) {
    this.#read = read;
  }

  take({ type, object }: InformerChange): boolean {
    const { name, deletionTimestamp } = object.metadata;
    const before = this.#nodes.get(name);
    const after = type === "deleted" ? undefined : this.#read(object);
    const isLeaving = after !== undefined && deletionTimestamp !== undefined;
    if (isSame(before, after) && this.#leaving.has(name) === isLeaving) return false;
    if (after === undefined) this.#nodes.delete(name);
    else this.#nodes.set(name, after);
    if (isLeaving) this.#leaving.add(name);
    else this.#leaving.delete(name);
    this.#current = null;
    return true;
  }

  /** Returns the same object until `take` returned true. */
  current(): ClusterNodes {
    this.#current ??= {
      nodes: [...this.#nodes.values()].sort((a, b) => compareText(a.name, b.name)),
      leaving: new Set(this.#leaving),
    };
    return this.#current;
  }
}

function isSame(a: NodeState | undefined, b: NodeState | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const { notReadySince, ...rest } = b;
  return a.notReadySince === notReadySince && keysOf(rest).every((key) => a[key] === rest[key]);
}
