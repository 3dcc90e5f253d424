import { Circle, remix } from "./circle.ts";
import { PeerDraft } from "./peer-draft.ts";
import { degreeBudget, type PeerRule, type PlanNode } from "./rule.ts";
import { addRepresentatives, type Uncovered } from "./zone-representatives.ts";

/** Peers by place in the list of nodes. They change only when nodes come or go. */
export interface StablePeers {
  readonly chosen: readonly (readonly number[])[];
  readonly uncovered: Uncovered;
}

/**
 * On each circle a node's peer is its successor. A change of one node affects one predecessor.
 * @param hashes one per node
 */
export function assignStablePeers(
  nodes: readonly PlanNode[],
  hashes: Float64Array,
  rule: PeerRule,
): StablePeers {
  const { stable, extra } = degreeBudget(rule);
  const draft = new PeerDraft(nodes, extra);
  const circles = Array.from(
    { length: stable },
    (_, slot) => new Circle(hashes.map((hash) => remix(hash, slot))),
  );
  for (const circle of circles) {
    for (const [place, node] of nodes.entries()) if (node.eligible) draft.follow(circle, place);
  }
  const uncovered = addRepresentatives(draft, hashes, rule.maxZones);
  // Unready nodes are not probed and count as nobody's predecessors, so their peers are extra.
  for (const circle of circles) {
    for (const [place, node] of nodes.entries()) if (!node.eligible) draft.followExtra(circle, place);
  }
  return { chosen: draft.chosen, uncovered };
}
