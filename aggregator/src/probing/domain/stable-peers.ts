import { Circle, remix } from "./circle.ts";
import { PeerDraft } from "./peer-draft.ts";
import { degreeBudget, type PeerRule, type PlanNode } from "./rule.ts";
import { addRepresentatives, type Uncovered } from "./zone-representatives.ts";

/** Peers that stay while no node comes or goes, by place in the list of nodes. */
export interface StablePeers {
  readonly chosen: readonly (readonly number[])[];
  readonly uncovered: Uncovered;
}

/**
 * A circle per peer: whoever follows a node on it is the node's peer. A node that comes or goes concerns one
 * predecessor per circle and nobody else.
 *
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
  // Nobody probes those that aren't ready, so they are nobody's predecessors in the count: what they add is
  // extra.
  for (const circle of circles) {
    for (const [place, node] of nodes.entries()) if (!node.eligible) draft.followExtra(circle, place);
  }
  return { chosen: draft.chosen, uncovered };
}
