import type { KubernetesObject } from "@isochrone/kubernetes";

export function farCostOf({ metadata: { name, annotations } }: KubernetesObject): string | undefined {
  return annotations?.[`isochrone.dev/network-cost-${name < "n3" ? "n5" : "n0"}`];
}

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

export function sorted(indices: Readonly<Record<string, number>> | null): object {
  return Object.fromEntries(Object.entries(indices ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
}
