import type { SpreadLimits } from "../feasibility/objects/spread-limits.ts";

interface NodeInZone {
  readonly name: string;
  readonly zone: string | null;
}

/**
 * Whether a move keeps enough nodes and zones. A workload below the minimum must not lose any node or zone.
 * @param replicaNodes includes the moved replica's node
 */
export function keepsSpan(
  replicaNodes: readonly string[],
  from: NodeInZone,
  to: NodeInZone,
  zoneOf: (node: string) => string | null,
  { minNodes, minZones }: Pick<SpreadLimits, "minNodes" | "minZones">,
): boolean {
  const others = [...replicaNodes];
  const own = others.indexOf(from.name);
  if (own >= 0) others.splice(own, 1);
  const zones = others.map(zoneOf);
  return (
    spanOf([...others, to.name]) >= Math.min(minNodes, spanOf([...others, from.name])) &&
    spanOf([...zones, to.zone]) >= Math.min(minZones, spanOf([...zones, from.zone]))
  );
}

function spanOf(places: readonly (string | null)[]): number {
  return new Set(places.filter((place) => place !== null)).size;
}
