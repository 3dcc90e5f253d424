// Large neighbourhood search (Christiaens 2020, Ropke 2006): removes a few pods and reinserts them in another
// order. Accepts better results, and early on slightly worse ones.
import type { Draw } from "@isochrone/primitives";
import type { Budget } from "./budget.ts";
import { construct, constructByRegret } from "./construct.ts";
import type { PodLinks } from "./orders.ts";
import type { PlanState } from "./plan-state.ts";
import { ruined, ruinedBlocks } from "./ruin.ts";
import { drawIndex, shuffle } from "./draws.ts";

/** Relative cost increase accepted at first and at last, by simulated annealing. */
const FIRST_TEMPERATURE = 0.3;
const LAST_TEMPERATURE = 0.0003;
/** Odds to skip a best node (Christiaens 2020). */
const BLINK = 0.03;
/** Odds that the first reinserted pod goes to a random node, for the others to follow. */
const FORCE = 0.3;
/** Odds to move pods of a node together. */
const BLOCKS = 0.2;
/** Odds to exchange all pods of two nodes. */
const EXCHANGES = 0.2;
/** Regret re-evaluates each pod after each placement; above this size, more tries find more. */
const MAX_REGRET_WORK = 1_500;

interface NeighbourhoodOptions {
  readonly budget: Budget;
  readonly span: { readonly from: number; readonly to: number };
  readonly draw: Draw;
  readonly links: PodLinks;
  readonly sizes: Float64Array;
  readonly movable: readonly number[];
  readonly nodes: readonly number[];
  /** Called for each new best state. */
  readonly better: () => void;
  readonly done: () => boolean;
}

/** Returns the number of tries. All rules MUST hold at the start; the final state is arbitrary. */
export function searchNeighbourhoods(state: PlanState, options: NeighbourhoodOptions): number {
  const { budget, draw, movable, span } = options;
  let best = { unplaced: state.unplaced, cost: state.cost };
  let tries = 0;
  if (movable.length === 0) return tries;
  while (!budget.exhausted() && !options.done()) {
    budget.step();
    tries++;
    const before = { unplaced: state.unplaced, cost: state.cost };
    const undo = rearrange(state, options);
    const progress = Math.min(1, (budget.spent - span.from) / (span.to - span.from));
    if (!acceptable(state, before, progress, draw)) {
      undo();
      continue;
    }
    if (
      state.unplaced < best.unplaced ||
      (state.unplaced === best.unplaced && state.cost < best.cost * (1 - 1e-9))
    ) {
      options.better();
      best = { unplaced: state.unplaced, cost: state.cost };
    }
  }
  return tries;
}

function acceptable(
  state: PlanState,
  before: { readonly unplaced: number; readonly cost: number },
  progress: number,
  draw: Draw,
): boolean {
  if (state.unplaced !== before.unplaced) return state.unplaced < before.unplaced && state.holds();
  const temperature = FIRST_TEMPERATURE * (LAST_TEMPERATURE / FIRST_TEMPERATURE) ** progress;
  return state.cost <= before.cost * (1 - temperature * Math.log(1 - draw())) && state.holds();
}

function rearrange(state: PlanState, options: NeighbourhoodOptions): () => void {
  const { links, movable, draw } = options;
  if (draw() < EXCHANGES) return exchangeNodes(state, options);
  const blocks =
    draw() < BLOCKS ? ruinedBlocks(state, links, movable, draw) : [ruined(state, links, movable, draw)];
  const pods = blocks.flat();
  const { cost } = state;
  const before = pods.map((pod) => (state.assignment[pod]! < 0 ? -1 : state.unplace(pod)));
  if (blocks.length > 1) putBlocksBack(state, blocks, options);
  else putBack(state, pods.slice(), options);
  return () => state.revert(pods, before, cost);
}

/** Places each block on one node. Pods that don't fit go elsewhere. */
function putBlocksBack(
  state: PlanState,
  blocks: readonly (readonly number[])[],
  { draw, sizes, nodes }: NeighbourhoodOptions,
): void {
  const search = { strict: false, blink: () => draw() < BLINK };
  let forced = nodes.length > 0 ? nodes[drawIndex(draw, nodes.length)]! : -1;
  const rest: number[] = [];
  for (const block of blocks) {
    const [first, ...others] = block.toSorted((a, b) => sizes[b]! - sizes[a]!);
    construct(state, [first!], forced, search);
    forced = -1;
    const node = state.assignment[first!]!;
    for (const pod of others) {
      if (node >= 0 && state.admits(pod, node, false)) state.place(pod, node);
      else rest.push(pod);
    }
  }
  construct(state, rest, -1, search);
}

function putBack(state: PlanState, pods: number[], { draw, sizes, nodes }: NeighbourhoodOptions): void {
  const kind = draw();
  const forced = draw() < FORCE && nodes.length > 0 ? nodes[drawIndex(draw, nodes.length)]! : -1;
  const work = pods.length * pods.length * state.problem.nodes.length;
  if (kind < 0.25 && forced < 0 && work <= MAX_REGRET_WORK) {
    constructByRegret(state, pods);
    return;
  }
  shuffle(pods, draw);
  if (kind > 0.7 || state.unplaced > pods.length) pods.sort((a, b) => sizes[b]! - sizes[a]!);
  construct(state, pods, forced, { strict: false, blink: () => draw() < BLINK });
}

function exchangeNodes(state: PlanState, options: NeighbourhoodOptions): () => void {
  const { budget, movable, draw, sizes, nodes } = options;
  const { cost, assignment } = state;
  const a = assignment[movable[drawIndex(draw, movable.length)]!]!;
  const b = nodes.length > 0 ? nodes[drawIndex(draw, nodes.length)]! : -1;
  if (a < 0 || b < 0 || a === b) return () => undefined;
  budget.step();
  const pods = movable.filter((pod) => assignment[pod] === a || assignment[pod] === b);
  const before = pods.map((pod) => state.unplace(pod));
  const rest: number[] = [];
  for (const at of [...pods.keys()].sort((x, y) => sizes[pods[y]!]! - sizes[pods[x]!]!)) {
    const pod = pods[at]!;
    const node = before[at] === a ? b : a;
    if (state.admits(pod, node, false)) state.place(pod, node);
    else rest.push(pod);
  }
  construct(state, rest, -1, { strict: false });
  return () => state.revert(pods, before, cost);
}
