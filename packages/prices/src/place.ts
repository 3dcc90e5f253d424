import type { ClusterNode } from "@isochrone/topology";
import type { Provider } from "./row.ts";

export interface Place {
  readonly provider: Provider;
  readonly region: string | null;
  readonly zone: string | null;
}

export type PlaceOf = (node: string) => Place | undefined;

/** Schemes of `spec.providerID` by cloud. */
const SCHEMES: Readonly<Record<string, Provider>> = { aws: "aws", gce: "gcp", azure: "azure" };

export function placesOf(
  nodes: readonly Pick<ClusterNode, "name" | "provider" | "region" | "zone">[],
): PlaceOf {
  const places = new Map<string, Place>();
  const byNode = new Map<string, Place>();
  for (const { name, provider = null, region, zone } of nodes) {
    const place = { provider: providerOf(provider), region, zone };
    const key = placeKey(place);
    const known = places.get(key) ?? place;
    places.set(key, known);
    byNode.set(name, known);
  }
  return (node) => byNode.get(node);
}

export function placeKey({ provider, region, zone }: Place): string {
  return JSON.stringify([provider, region, zone]);
}

/** `own` for nodes of no known cloud. @param scheme of `spec.providerID` */
function providerOf(scheme: string | null): Provider {
  return (scheme === null ? undefined : SCHEMES[scheme]) ?? "own";
}
