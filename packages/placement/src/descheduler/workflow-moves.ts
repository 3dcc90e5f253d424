// Gains of moves of one workflow. Simulates decided moves for later calls.
import { PlanState } from "../planner/search/plan-state.ts";
import type { MoveRules, WorkflowToImprove } from "./deschedule-input.ts";
import { gainErrorOf } from "./gain-error.ts";
import { LeastGain } from "./least-gain.ts";
import { moveCosts } from "./move-costs.ts";
import { gainOf, type PodMove, type Proposal } from "./proposal.ts";
import { keepsSpan } from "./span.ts";

/** Targets kept per pod: lower ones hardly become the best in the next run. */
const TARGETS_PER_POD = 8;
/** Larger clusters use a sample of the nodes for groups. */
const MAX_GROUP_NODES = 48;
const FOLLOWED_NODES = 8;
const MOST_ROTATED = 6;

interface Step extends PodMove {
  readonly gain: number;
}

/** Returns the next move. Null: none. @param left the node that the last move vacated */
type NextOf = (moves: readonly PodMove[], left: number) => Step | null;

export class WorkflowMoves {
  readonly workflow: WorkflowToImprove;
  /**
   * Why gains are unknown. Null: they are known. Declared priorities replace traffic for placing pods, never
   * for moving them.
   */
  readonly blind: string | null;
  readonly #rules: MoveRules;
  readonly #leastGain: LeastGain;
  readonly #state: PlanState;
  /** Nodes that pods leave in this run. Their resources stay occupied until the pods are gone. */
  readonly #vacated = new Set<number>();
  readonly #gainIfFree = new Map<number, number>();
  readonly #nearby = new Map<number, readonly number[]>();
  readonly #all: readonly number[];

  constructor(workflow: WorkflowToImprove, rules: MoveRules) {
    this.workflow = workflow;
    this.#rules = rules;
    const { problem } = workflow;
    this.#leastGain = new LeastGain(problem, rules);
    this.#all = [...problem.nodes.keys()];
    const model = moveCosts(problem, rules);
    this.blind = !model.field.known
      ? "no network cost is known"
      : model.traffic.source === "measured"
        ? null
        : "the traffic of its channels isn't measured";
    this.#state = new PlanState(model);
    for (const [pod, { current }] of problem.pods.entries())
      if (current >= 0) this.#state.place(pod, current);
  }

  costOf(pod: number): number {
    const node = this.#state.unplace(pod);
    const cost = this.#state.networkAt(pod, node, -1);
    this.#state.place(pod, node);
    return cost;
  }

  /** Best other node for the pod. Null: no other node admits it. */
  best(pod: number): Proposal | null {
    return this.#targets(pod, -Infinity, 1, this.#all)[0] ?? null;
  }

  singles(pod: number): Proposal[] {
    const least = this.#leastGain.of(this.costOf(pod), [{ pod }]);
    return this.#targets(pod, least, TARGETS_PER_POD, this.#all).filter((proposal) => this.pays(proposal));
  }

  /** Whether the gain suffices and exceeds the given multiple of its measurement error. */
  pays({ gain, cost, moves }: Proposal, errors = 1): boolean {
    return gain >= this.#leastGain.of(cost, moves) && gain > errors * gainErrorOf(this.#state, moves);
  }

  get leastAdded(): number {
    return this.#leastGain.added;
  }

  /** Gain of these moves together. Null: some are infeasible. */
  judge(moves: readonly PodMove[]): Proposal | null {
    const cost = moves.reduce((sum, { pod }) => sum + this.costOf(pod), 0);
    const undo: PodMove[] = [];
    let gain = 0;
    for (const { pod, node } of moves) {
      const step = this.#stepGain(pod, node);
      if (step === null) break;
      gain += step;
      undo.unshift({ pod, node: this.#state.assignment[pod]! });
      this.#state.move(pod, node);
    }
    for (const { pod, node } of undo) this.#state.move(pod, node);
    return undo.length === moves.length ? { moves, gain, cost } : null;
  }

  /**
   * Best group that starts with this pod. Each next pod is a peer from another workload; no part has as much
   * gain per move.
   */
  group(first: number): Proposal | null {
    const most = this.#rules.maxGroup;
    return this.#bestChain(first, most, (moves) => {
      const next = this.#followerOf(moves);
      return next === null || next.gain <= 0 ? null : next;
    });
  }

  /** Pods whose places others would gain by, most valuable place first. */
  inTheWay(): number[] {
    const worthOf = (pod: number): number => this.#gainIfFree.get(this.nodeOf(pod)) ?? 0;
    const pods = [...this.workflow.pods.keys()].filter((pod) => worthOf(pod) > 0);
    return pods.sort((a, b) => worthOf(b) - worthOf(a));
  }

  /**
   * Best ejection chain from this pod, for full nodes: each next pod takes the vacated place (F. Glover,
   * Ejection chains, reference structures and alternating path methods, 1996).
   */
  rotation(first: number): Proposal | null {
    return this.#bestChain(first, MOST_ROTATED, (moves, left) => this.#successorOf(moves, left));
  }

  /** Whether this move alone keeps enough nodes and zones. */
  keepsSpan({ pod, node }: PodMove): boolean {
    return this.#keeps(pod, this.nodeOf(pod), node);
  }

  /** As `judge`, for moves in any order and over several runs. */
  judgeTogether(moves: readonly PodMove[]): Proposal | null {
    const state = this.#state;
    const from = moves.map(({ pod }) => state.assignment[pod]!);
    const kept = moves.every(
      ({ pod, node }, index) => node !== from[index] && this.#keeps(pod, from[index]!, node),
    );
    if (!kept || moves.length === 0) return null;
    const held = state.holds();
    let cost = 0;
    let pressure = 0;
    let relief = 0;
    for (const [index, { pod }] of moves.entries()) {
      state.unplace(pod);
      cost += state.networkAt(pod, from[index]!, -1);
      pressure += state.requestsAt(pod, from[index]!);
      relief += state.overloadAt(pod, from[index]!);
    }
    let network = cost;
    let placed = 0;
    for (const { pod, node } of moves) {
      if (!state.admits(pod, node, false)) break;
      network -= state.networkAt(pod, node, -1);
      pressure -= state.requestsAt(pod, node);
      relief -= state.overloadAt(pod, node);
      state.place(pod, node);
      placed++;
    }
    const isAllowed = placed === moves.length && (!held || state.holds());
    for (const { pod } of moves.slice(0, placed)) state.unplace(pod);
    for (const [index, { pod }] of moves.entries()) state.place(pod, from[index]!);
    return isAllowed ? { moves, gain: gainOf({ network, pressure, relief }), cost } : null;
  }

  /** Orders moves so that each can start once the pods before it are gone; drops the rest. */
  inTurn(moves: readonly PodMove[]): PodMove[] {
    const state = this.#state;
    const left = new Set(moves);
    const done: PodMove[] = [];
    const undo: PodMove[] = [];
    for (;;) {
      const fitting = [...left].filter((move) => this.#fits(move));
      const blocked = new Set([...left].filter((move) => !fitting.includes(move)).map(({ node }) => node));
      // Release needed places first: a later pod can take the remaining room.
      const next = fitting.find(({ pod }) => blocked.has(this.nodeOf(pod))) ?? fitting[0];
      if (next === undefined) break;
      left.delete(next);
      done.push(next);
      undo.unshift({ pod: next.pod, node: this.nodeOf(next.pod) });
      state.move(next.pod, next.node);
    }
    for (const { pod, node } of undo) state.move(pod, node);
    return done;
  }

  /** True if no move waits for another pod to leave. */
  areAtOnce(moves: readonly PodMove[]): boolean {
    return moves.every((move) => this.#fits(move));
  }

  commit(moves: readonly PodMove[]): void {
    for (const { pod } of moves) this.#vacated.add(this.nodeOf(pod));
    this.settle(moves);
  }

  /** Ends the moves: the resources on the old nodes are free again. */
  settle(moves: readonly PodMove[]): void {
    for (const { pod, node } of moves) this.#state.move(pod, node);
  }

  nodeOf(pod: number): number {
    return this.#state.assignment[pod]!;
  }

  #bestChain(first: number, most: number, nextOf: NextOf): Proposal | null {
    let best: Proposal | null = null;
    for (const node of this.#groupNodes(first)) {
      const found = this.#chain(first, node, most, nextOf);
      if (found !== null && (best === null || found.gain > best.gain)) best = found;
    }
    return best;
  }

  #chain(first: number, node: number, most: number, nextOf: NextOf): Proposal | null {
    const start = this.#stepGain(first, node);
    if (start === null) return null;
    const state = this.#state;
    const moves: PodMove[] = [{ pod: first, node }];
    const undo: PodMove[] = [{ pod: first, node: state.assignment[first]! }];
    let cost = this.costOf(first);
    let gain = start;
    let best: Proposal | null = null;
    state.move(first, node);
    while (moves.length < most) {
      const next = nextOf(moves, undo[0]!.node);
      if (next === null) break;
      cost += this.costOf(next.pod);
      gain += next.gain;
      moves.push({ pod: next.pod, node: next.node });
      undo.unshift({ pod: next.pod, node: state.assignment[next.pod]! });
      state.move(next.pod, next.node);
      const pays = gain >= this.#leastGain.of(cost, moves);
      if (pays && (best === null || gain > best.gain)) best = { moves: [...moves], gain, cost };
    }
    for (const back of undo) state.move(back.pod, back.node);
    return best;
  }

  #followerOf(moves: readonly PodMove[]): Step | null {
    const { pods } = this.workflow;
    const owners = new Set(moves.map(({ pod }) => pods[pod]!.owner));
    const near = this.#near(moves.at(-1)!.node);
    let best: Step | null = null;
    for (const pod of new Set(moves.flatMap((move) => this.#peersOf(move.pod)))) {
      if (owners.has(pods[pod]!.owner)) continue;
      const [target] = this.#targets(pod, 0, 1, near);
      if (target === undefined || (best !== null && target.gain <= best.gain)) continue;
      best = { ...target.moves[0]!, gain: target.gain };
    }
    return best;
  }

  #successorOf(moves: readonly PodMove[], left: number): Step | null {
    const { pods } = this.workflow;
    const owners = new Set(moves.map(({ pod }) => pods[pod]!.owner));
    let best: Step | null = null;
    for (const [pod, { owner }] of pods.entries()) {
      if (owners.has(owner)) continue;
      const gain = this.#stepGain(pod, left);
      if (gain !== null && (best === null || gain > best.gain)) best = { pod, node: left, gain };
    }
    return best;
  }

  #targets(pod: number, least: number, count: number, nodes: readonly number[]): Proposal[] {
    const state = this.#state;
    const from = state.unplace(pod);
    const cost = state.networkAt(pod, from, -1);
    const pressure = state.requestsAt(pod, from);
    const overload = state.overloadAt(pod, from);
    const found: { node: number; gain: number }[] = [];
    for (const node of nodes) {
      if (node === from || this.#vacated.has(node)) continue;
      const network = cost - state.networkAt(pod, node, -1);
      const relief = overload - state.overloadAt(pod, node);
      const most = network + relief;
      if (most < least || (found.length === count && most <= found.at(-1)!.gain)) continue;
      const gain = gainOf({ network, pressure: pressure - state.requestsAt(pod, node), relief });
      if (gain < least || (found.length === count && gain <= found.at(-1)!.gain)) continue;
      if (!this.#admits(pod, from, node)) {
        if (least > 0) this.#wish(pod, node, gain);
        continue;
      }
      if (found.length === count) found.pop();
      const at = found.findIndex((other) => other.gain < gain);
      found.splice(at < 0 ? found.length : at, 0, { node, gain });
    }
    state.place(pod, from);
    return found.map(({ node, gain }) => ({ moves: [{ pod, node }], gain, cost }));
  }

  /** The pod must be unplaced. */
  #wish(pod: number, node: number, gain: number): void {
    const isFull = this.#state.shortage(pod, node) >= 0;
    if (isFull && gain > (this.#gainIfFree.get(node) ?? 0)) this.#gainIfFree.set(node, gain);
  }

  #stepGain(pod: number, node: number): number | null {
    const state = this.#state;
    if (node === state.assignment[pod] || this.#vacated.has(node)) return null;
    const from = state.unplace(pod);
    const network = state.networkAt(pod, from, -1) - state.networkAt(pod, node, -1);
    const pressure = state.requestsAt(pod, from) - state.requestsAt(pod, node);
    const relief = state.overloadAt(pod, from) - state.overloadAt(pod, node);
    const admitted = this.#admits(pod, from, node);
    state.place(pod, from);
    return admitted ? gainOf({ network, pressure, relief }) : null;
  }

  #fits({ pod, node }: PodMove): boolean {
    const from = this.#state.unplace(pod);
    const fits = this.#admits(pod, from, node);
    this.#state.place(pod, from);
    return fits;
  }

  #admits(pod: number, from: number, node: number): boolean {
    return this.#state.admits(pod, node, this.#isStrict(pod, from)) && this.#keeps(pod, from, node);
  }

  #keeps(pod: number, from: number, node: number): boolean {
    const { nodes } = this.#state.problem;
    const { replicaNodes } = this.workflow.pods[pod]!;
    return keepsSpan(replicaNodes, nodes[from]!, nodes[node]!, this.#zoneOf, this.#rules);
  }

  /** A rule that is already broken can't be enforced in full. */
  readonly #broken = new Map<number, boolean>();
  #isStrict(pod: number, from: number): boolean {
    let strict = this.#broken.get(pod);
    if (strict === undefined) {
      strict = this.#state.admits(pod, from, true);
      this.#broken.set(pod, strict);
    }
    return strict;
  }

  readonly #zones = new Map<string, string | null>();
  readonly #zoneOf = (name: string): string | null => {
    if (this.#zones.size === 0)
      for (const node of this.#state.problem.nodes) this.#zones.set(node.name, node.zone);
    return this.#zones.get(name) ?? null;
  };

  #peersOf(pod: number): number[] {
    const { groups, groupOf } = this.#state.traffic;
    const links = groups[groupOf[pod]!]?.links ?? [];
    return links.flatMap((link) => groups[link.group]!.pods).filter((peer) => peer !== pod);
  }

  #near(node: number): readonly number[] {
    let near = this.#nearby.get(node);
    if (near === undefined) {
      const { nodes } = this.#state.problem;
      const { zone } = nodes[node]!;
      const others = zone === null ? [] : this.#all.filter((at) => at !== node && nodes[at]!.zone === zone);
      near = [node, ...others.slice(0, FOLLOWED_NODES - 1)];
      this.#nearby.set(node, near);
    }
    return near;
  }

  #groupNodes(pod: number): readonly number[] {
    const state = this.#state;
    const all = this.#all;
    if (all.length <= MAX_GROUP_NODES) return all;
    const chosen = new Set(state.assignment);
    const best = new Map<string | null, { node: number; cost: number }>();
    const from = state.unplace(pod);
    for (const node of all) {
      const { zone } = state.problem.nodes[node]!;
      const cost = state.networkAt(pod, node, -1);
      if (cost < (best.get(zone)?.cost ?? Infinity) && this.#admits(pod, from, node))
        best.set(zone, { node, cost });
    }
    state.place(pod, from);
    for (const { node } of best.values()) chosen.add(node);
    return [...chosen].filter((node) => node >= 0).slice(0, MAX_GROUP_NODES);
  }
}
