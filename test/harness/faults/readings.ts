// What objects say of the truth.
import type { KubernetesObject } from "@isochrone/kubernetes";

/** What a node's annotations say of the way to the other region. */
export function farCostOf({ metadata: { name, annotations } }: KubernetesObject): string | undefined {
  return annotations?.[`isochrone.dev/network-cost-${name < "n3" ? "n5" : "n0"}`];
}

/** Costs between areas, as the NetworkTopology has them. */
export function areaCostsOf({ spec }: KubernetesObject): unknown[] {
  const weights = spec?.["weights"] as readonly {
    readonly name: string;
    readonly topologyList: readonly {
      readonly originList: readonly { readonly costList: readonly Readonly<Record<string, unknown>>[] }[];
    }[];
  }[];
  return weights
    .filter(({ name }) => name === "NetperfCosts")
    .flatMap(({ topologyList }) => topologyList)
    .flatMap(({ originList }) => originList)
    .flatMap(({ costList }) => costList)
    .map(({ networkCost }) => networkCost);
}

/** By key, to compare. */
export function sorted(indices: Readonly<Record<string, number>> | null): object {
  return Object.fromEntries(Object.entries(indices ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
}
