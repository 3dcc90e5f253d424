// What moving pods of one workflow would gain, by the planner's own cost. Moves that were decided are
// simulated: later questions see the pods where they will be, and nodes without what they will use.
import { PlanState } from "../planner/search/plan-state.ts";
import type { MoveRules, WorkflowToImprove } from "./deschedule-input.ts";
import { gainErrorOf } from "./gain-error.ts";
import { LeastGain } from "./least-gain.ts";
import { moveCosts } from "./move-costs.ts";
import { gainOf, type PodMove, type Proposal } from "./proposal.ts";
import { keepsSpan } from "./span.ts";

/** Targets kept per pod: those behind them would hardly be the best one in the next run. */
const TARGETS_PER_POD = 8;
/** On clusters above this, groups are looked for on a sample of the nodes. */
const MAX_GROUP_NODES = 48;
/** Nodes of its zone where a pod may follow another one, which itself is the first. */
const FOLLOWED_NODES = 8;
/** Pods in one ejection chain. */
const MOST_ROTATED = 6;

interface Step extends PodMove {
  readonly gain: number;
}

/** What comes behind these moves; null: nothing. @param left the node that the last of them has left */
type NextOf = (moves: readonly PodMove[], left: number) => Step | null;

export class WorkflowMoves {
  readonly workflow: WorkflowToImprove;
  /**
   * Why nothing can be said about gains; null when it can. Declared priorities stand in for traffic when pods
   * are placed, never to move them.
   */
  readonly blind: string | null;
  readonly #rules: MoveRules;
  readonly #leastGain: LeastGain;
  readonly #state: PlanState;
  /** Nodes that pods of this run leave: what they hold there is theirs until they are gone. */
  readonly #vacated = new Set<number>();
  /** By node that is full, the most that a pod for which there is no room would gain there. */
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

  /** What the pod's channels cost where it is. */
  costOf(pod: number): number {
    const node = this.#state.unplace(pod);
    const cost = this.#state.networkAt(pod, node, -1);
    this.#state.place(pod, node);
    return cost;
  }

  /** The best node that admits the pod, whatever it gains; null when no other does. */
  best(pod: number): Proposal | null {
    return this.#targets(pod, -Infinity, 1, this.#all)[0] ?? null;
  }

  /** Moves of one pod that pay, the best targets first. */
  singles(pod: number): Proposal[] {
    const least = this.#leastGain.of(this.costOf(pod), [{ pod }]);
    return this.#targets(pod, least, TARGETS_PER_POD, this.#all).filter((proposal) => this.pays(proposal));
  }

  /** Whether it gains enough, and more than so many times what links are measured with could make up. */
  pays({ gain, cost, moves }: Proposal, errors = 1): boolean {
    return gain >= this.#leastGain.of(cost, moves) && gain > errors * gainErrorOf(this.#state, moves);
  }

  /** What a move must add to a larger one. */
  get leastAdded(): number {
    return this.#leastGain.added;
  }

  /** What these moves would gain as things are; null when they can't be made, or not all. */
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
   * The best moves of several pods that begin with this one: each next pod talks to one before it and is of
   * another workload. They pay together, and no part of them pays as much per move.
   */
  group(first: number): Proposal | null {
    const most = this.#rules.maxGroup;
    return this.#bestChain(first, most, (moves) => {
      const next = this.#followerOf(moves);
      return next === null || next.gain <= 0 ? null : next;
    });
  }

  /** Pods whose place others would gain by, as far as it was asked for; the most valuable place first. */
  inTheWay(): number[] {
    const worthOf = (pod: number): number => this.#gainIfFree.get(this.nodeOf(pod)) ?? 0;
    const pods = [...this.workflow.pods.keys()].filter((pod) => worthOf(pod) > 0);
    return pods.sort((a, b) => worthOf(b) - worthOf(a));
  }

  /**
   * The best moves that begin with this one, in turn: each next pod takes the place that the one before it
   * has left, whatever it loses by that, an ejection chain (F. Glover, Ejection chains, reference structures
   * and alternating path methods, 1996). Where nodes are full, nothing else pays.
   */
  rotation(first: number): Proposal | null {
    return this.#bestChain(first, MOST_ROTATED, (moves, left) => this.#successorOf(moves, left));
  }

  /** Whether each of them, were it made now and alone, would leave its workload on enough nodes and zones. */
  keepsSpan({ pod, node }: PodMove): boolean {
    return this.#keeps(pod, this.nodeOf(pod), node);
  }

  /** As `judge`, but of moves that need not be made in this order, nor in one run. */
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

  /** The moves that can be made one after the other, each once the pods before it have gone, in order. */
  inTurn(moves: readonly PodMove[]): PodMove[] {
    const state = this.#state;
    const left = new Set(moves);
    const done: PodMove[] = [];
    const undo: PodMove[] = [];
    for (;;) {
      const fitting = [...left].filter((move) => this.#fits(move));
      const blocked = new Set([...left].filter((move) => !fitting.includes(move)).map(({ node }) => node));
      // Who holds what another one waits for goes first: who comes later may take the room that there is.
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

  /** True when none of them waits for another one to leave. */
  areAtOnce(moves: readonly PodMove[]): boolean {
    return moves.every((move) => this.#fits(move));
  }

  /** The moves are made: simulates them. */
  commit(moves: readonly PodMove[]): void {
    for (const { pod } of moves) this.#vacated.add(this.nodeOf(pod));
    this.settle(moves);
  }

  /** The moves are over: what the pods held where they were is free again. */
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

  /** The pod that gains most by following those that were moved: to where the last one is, or near it. */
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

  /** The pod that gains most, or loses least, in the place that was left. */
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

  /** The pod has no node at the moment. */
  #wish(pod: number, node: number, gain: number): void {
    const isFull = this.#state.shortage(pod, node) >= 0;
    if (isFull && gain > (this.#gainIfFree.get(node) ?? 0)) this.#gainIfFree.set(node, gain);
  }

  /** null when the pod can't go there. */
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

  /** The pod has no node at the moment. */
  #admits(pod: number, from: number, node: number): boolean {
    return this.#state.admits(pod, node, this.#isStrict(pod, from)) && this.#keeps(pod, from, node);
  }

  #keeps(pod: number, from: number, node: number): boolean {
    const { nodes } = this.#state.problem;
    const { replicaNodes } = this.workflow.pods[pod]!;
    return keepsSpan(replicaNodes, nodes[from]!, nodes[node]!, this.#zoneOf, this.#rules);
  }

  /** Rules that are broken already can't be held to in whole. */
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

  /** Planned pods that the pod talks to. */
  #peersOf(pod: number): number[] {
    const { groups, groupOf } = this.#state.traffic;
    const links = groups[groupOf[pod]!]?.links ?? [];
    return links.flatMap((link) => groups[link.group]!.pods).filter((peer) => peer !== pod);
  }

  /** The node, and others of its zone. */
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

  /**
   * Where groups are tried: everywhere; on large clusters where the workflow is, and the best of each zone
   * for the pod.
   */
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
