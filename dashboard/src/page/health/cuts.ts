// Shortest description of cut links: unreachable nodes, then pairs with both directions joined.
import { findPair, PAIR, rowOf, type ClusterView } from "../model/cluster-view.ts";

/** Nodes first: `node-3`, `a ↔ b`, `a → c`. */
export function cutsOf({ nodes, pairs }: ClusterView): string[] {
  const lost = lostNodes({ nodes, pairs });
  const words = Array.from(lost, (row) => nodes[row]!.name);
  for (let at = 0; at < pairs.column.length; at++) {
    if ((pairs.flags[at]! & PAIR.dead) === 0) continue;
    const [row, column] = [rowOf(pairs, at), pairs.column[at]!];
    if (lost.has(row) || lost.has(column)) continue;
    const back = findPair(pairs, column, row);
    const isBoth = back >= 0 && (pairs.flags[back]! & PAIR.dead) !== 0;
    if (isBoth && column < row) continue;
    words.push(`${nodes[row]!.name} ${isBoth ? "↔" : "→"} ${nodes[column]!.name}`);
  }
  return words;
}

/** Nodes probed by at least two peers that answer none. */
function lostNodes({ nodes, pairs }: Pick<ClusterView, "nodes" | "pairs">): Set<number> {
  const asked = new Int32Array(nodes.length);
  const answering = new Int32Array(nodes.length);
  for (let at = 0; at < pairs.column.length; at++) {
    if ((pairs.flags[at]! & (PAIR.estimated | PAIR.declared)) !== 0) continue;
    const column = pairs.column[at]!;
    asked[column]!++;
    if ((pairs.flags[at]! & PAIR.dead) === 0) answering[column]!++;
  }
  const lost = new Set<number>();
  for (let row = 0; row < nodes.length; row++) if (asked[row]! > 1 && answering[row] === 0) lost.add(row);
  return lost;
}
