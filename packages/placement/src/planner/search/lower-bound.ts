import type { CostModel } from "../objective/objective.ts";

/** Pairs of a pod and a node, up to which load counts. */
const MAX_PRESSED = 100_000;

/**
 * What no plan can be cheaper than: each pod at the node where it alone is cheapest, with what it exchanges
 * with pods that aren't planned, and with the load as it is; planned pods are taken to sit together. Weak
 * where little is fixed: pods may then come together for nothing.
 */
export function lowerBound({ problem, field, traffic, capacity }: CostModel): number {
  const columns = traffic.groups.map(({ fixed }) => {
    const column = new Float64Array(field.nodeCount);
    for (const { location, calling, called } of fixed) {
      const to = field.to(location);
      const from = field.from(location);
      for (let node = 0; node < column.length; node++)
        column[node]! += calling * to[node]! + called * from[node]!;
    }
    return column;
  });
  // In large clusters some node is idle: looking for it isn't worth the time.
  const pressing = problem.pods.length * problem.nodes.length <= MAX_PRESSED;
  let sum = 0;
  // Replicas are alike.
  const known = new Map<Uint8Array | null, Map<string, number>>();
  for (const [pod, { allowed, demand }] of problem.pods.entries()) {
    const group = traffic.groupOf[pod]!;
    const column = columns[group];
    const ofAllowed = known.get(allowed) ?? new Map<string, number>();
    known.set(allowed, ofAllowed);
    const kind = `${group}:${demand.join()}:${capacity.overload.useOf(pod)}:${capacity.homeOf(pod)}`;
    const before = ofAllowed.get(kind);
    if (before !== undefined) {
      sum += before;
      continue;
    }
    let least = Infinity;
    for (let node = 0; node < field.nodeCount; node++) {
      const network = column?.[node] ?? 0;
      if (network >= least || (allowed !== null && allowed[node] === 0) || !capacity.fits(pod, node))
        continue;
      least = Math.min(least, network + (pressing ? capacity.pressureOf(pod, node) : 0));
      if (least === 0) break;
    }
    if (least === Infinity) least = 0;
    ofAllowed.set(kind, least);
    sum += least;
  }
  return sum;
}
