import { nodeFilter } from "./node-filters.ts";
import type { NodeState } from "../objects/node-state.ts";
import { requiredAffinity, type SchedulingPod } from "../objects/scheduling-pod.ts";
import type { Rejection } from "../objects/verdict.ts";
import { volumeFilter, type BoundVolumes } from "./volumes.ts";

/** Verdicts before and after kube-scheduler's check of resources. */
interface StaticVerdict {
  readonly first: Rejection | null;
  readonly last: Rejection | null;
}

const PASSED: StaticVerdict = { first: null, last: null };

/** Equal keys mean equal verdicts. */
export function staticKey({ spec, claims, set }: SchedulingPod): string {
  const required = requiredAffinity(spec, "nodeAffinity");
  const volumes = claims.length === 0 ? null : [set.namespace, claims];
  return JSON.stringify([spec.nodeName, spec.nodeSelector, spec.tolerations, required, volumes]);
}

export class StaticVerdicts {
  readonly #nodes: readonly NodeState[];
  readonly #nodeFilter: (node: NodeState) => Rejection | null;
  readonly #volumeFilter: (node: NodeState) => Rejection | null;
  readonly #byNode: (StaticVerdict | undefined)[] = [];
  #targets: Uint8Array | null = null;

  constructor(pod: SchedulingPod, volumes: BoundVolumes, nodes: readonly NodeState[]) {
    this.#nodes = nodes;
    this.#nodeFilter = nodeFilter(pod);
    this.#volumeFilter = volumeFilter(volumes);
  }

  of(node: NodeState): StaticVerdict {
    let verdict = this.#byNode[node.index];
    if (verdict === undefined) {
      verdict = { first: this.#nodeFilter(node), last: this.#volumeFilter(node) };
      this.#byNode[node.index] = verdict.first === null && verdict.last === null ? PASSED : verdict;
    }
    return verdict;
  }

  /** 1 for each admitting node that plans may use. Shared: don't modify. */
  targets(): Uint8Array {
    if (this.#targets === null) {
      this.#targets = new Uint8Array(this.#nodes.length);
      for (const node of this.#nodes) {
        const { first, last } = this.of(node);
        if (node.noTarget === null && first === null && last === null) this.#targets[node.index] = 1;
      }
    }
    return this.#targets;
  }
}
