import type { LabelSet } from "../objects/label-sets.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";

/** Pods of one namespace and set of labels on one node. */
interface Residents {
  /** All of them. */
  all: number;
  /** Without those that are being deleted. */
  lasting: number;
}

/**
 * Who is where, by namespace and labels: to count pods for a selector takes a look at each set of labels, not
 * at each pod.
 */
export class Population {
  readonly #bySet = new Map<LabelSet, Map<number, Residents>>();

  change({ set, terminating }: SchedulingPod, node: number, pods: 1 | -1): void {
    let byNode = this.#bySet.get(set);
    if (byNode === undefined) this.#bySet.set(set, (byNode = new Map<number, Residents>()));
    let residents = byNode.get(node);
    if (residents === undefined) byNode.set(node, (residents = { all: 0, lasting: 0 }));
    residents.all += pods;
    if (!terminating) residents.lasting += pods;
    if (residents.all === 0) byNode.delete(node);
    if (byNode.size === 0) this.#bySet.delete(set);
  }

  /** Sets of labels that are there, and by node how many have them. */
  sets(): Iterable<readonly [LabelSet, ReadonlyMap<number, Readonly<Residents>>]> {
    return this.#bySet;
  }
}
