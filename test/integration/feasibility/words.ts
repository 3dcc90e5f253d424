import type { KubernetesObject } from "@isochrone/kubernetes";
import { seededRandom } from "@isochrone/runtime";

export type Json = Record<string, unknown>;
export type Labels = Record<string, string>;

export const TOPOLOGY_KEYS = ["kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"] as const;

export class Some {
  readonly #random: { next(): number };

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  chance(share: number): boolean {
    return this.#random.next() < share;
  }

  between(least: number, most: number): number {
    return least + Math.floor(this.#random.next() * (most - least + 1));
  }

  of<T>(items: readonly T[]): T {
    return items[this.between(0, items.length - 1)]!;
  }
}

export function object(
  apiVersion: string,
  kind: string,
  metadata: KubernetesObject["metadata"],
): KubernetesObject {
  return { apiVersion, kind, metadata };
}

export function required(terms: readonly Json[]): Json {
  return { requiredDuringSchedulingIgnoredDuringExecution: terms };
}

export function onNodes(key: string, operator: string, values: readonly string[]): Json {
  return { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }] } };
}
