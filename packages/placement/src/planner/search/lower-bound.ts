import type { CostModel } from "../objective/objective.ts";

/** Largest number of pod-node pairs for which load counts. */
const MAX_PRESSED = 100_000;

/** Sums each pod's cheapest node, with planned pods together for free. Weak if few pods are fixed. */
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
  // Some node of a large cluster is idle, so searching it isn't worth the time.
  const pressing = problem.pods.length * problem.nodes.length <= MAX_PRESSED;
  let sum = 0;
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
