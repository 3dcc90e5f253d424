import type { LabelSet } from "../objects/label-sets.ts";
import type { SchedulingPod } from "../objects/scheduling-pod.ts";

interface Residents {
  all: number;
  /** Number of pods without terminating ones. */
  lasting: number;
}

/** Pod counts by label set and node, so that a selector is evaluated per label set, not per pod. */
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

  sets(): Iterable<readonly [LabelSet, ReadonlyMap<number, Readonly<Residents>>]> {
    return this.#bySet;
  }
}
