interface NodeInZone {
  readonly name: string;
  readonly zone: string | null;
}

/** A workload is to be on so many nodes, and in so many zones, as far as it was. */
const MIN_SPAN = 2;

/**
 * Whether moving a replica leaves its workload on at least min(replicas, 2) nodes and zones; one that was on fewer before must not lose any.
 * @param replicaNodes nodes of all replicas, the moved one's among them
 */
export function keepsSpan(
  replicaNodes: readonly string[],
  from: NodeInZone,
  to: NodeInZone,
  zoneOf: (node: string) => string | null,
): boolean {
  const others = [...replicaNodes];
  const own = others.indexOf(from.name);
  if (own >= 0) others.splice(own, 1);
  const least = Math.min(others.length + 1, MIN_SPAN);
  const zones = others.map(zoneOf);
  return (
    spanOf([...others, to.name]) >= Math.min(least, spanOf([...others, from.name])) &&
    spanOf([...zones, to.zone]) >= Math.min(least, spanOf([...zones, from.zone]))
  );
}

/** null is nowhere. */
function spanOf(places: readonly (string | null)[]): number {
  return new Set(places.filter((place) => place !== null)).size;
}
