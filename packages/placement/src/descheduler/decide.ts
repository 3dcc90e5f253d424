// Pure: time, graphs and memory are arguments. A run that must not move anything still reports proposals and
// counts as a round.
import { Budgets } from "./budgets.ts";
import type { DescheduleDecision, DescheduleInput, Halt, Move, StayReason } from "./deschedule-input.ts";
import { afterRun, begunCampaign, isDone, isLarge, proposeCampaign, restOf } from "./campaign.ts";
import { streakKey } from "./memory.ts";
import type { Campaign, DescheduleMemory, Streak } from "./memory.ts";
import { Replanning } from "./replanning.ts";
import type { PodMove, Proposal } from "./proposal.ts";
import { Rows } from "./rows.ts";
import { WorkflowMoves } from "./workflow-moves.ts";

export function decideMoves(input: DescheduleInput): DescheduleDecision {
  const steps = decideInSteps(input);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** As `decideMoves`, in steps, so that the caller can do other work. */
export function decideInSteps(input: DescheduleInput): Generator<undefined, DescheduleDecision> {
  return new Run(input).decide();
}

/** One unready pod may be restarting, and a ratio of few pods means nothing. */
const FEW_UNREADY = 1;

export function tooManyUnready(unready: number, all: number, maxRatio: number): boolean {
  return unready > FEW_UNREADY && unready > all * maxRatio;
}

function haltOf({ health, rules, closed }: DescheduleInput): Halt | null {
  if (closed !== undefined && closed !== null) return closed;
  const { pods, unreadyPods, nodes, unreadyNodes } = health;
  for (const [what, unready, all] of [
    ["pods", unreadyPods, pods],
    ["nodes", unreadyNodes, nodes],
  ] as const) {
    if (tooManyUnready(unready, all, rules.maxUnreadyRatio))
      return { reason: "unready", detail: `${unready} of ${all} ${what} aren't ready` };
  }
  return null;
}

const GROUPED_PODS = 64;

/** Number of rounds that a move waits for a larger one, which may never happen. */
const PATIENCE = 2;

/** A gain of this many times its error is not noise: five emulated hours reached 1.9. */
const CLEAR_ERRORS = 3;

const SEED_MS = 1_000;

interface Candidate {
  readonly in: WorkflowMoves;
  readonly proposal: Proposal;
  /** The campaign that contains it. Null: none. */
  readonly whole: Proposal | null;
  readonly isLarge: boolean;
  readonly key: string;
  readonly runs: number;
}

type Outcome = "move" | StayReason;

class Run {
  readonly #input: DescheduleInput;
  readonly #budgets: Budgets;
  readonly #moves: Move[] = [];
  readonly #rows = new Rows();
  readonly #campaigns = new Map<string, Campaign>();

  constructor(input: DescheduleInput) {
    this.#input = input;
    this.#budgets = new Budgets(input.rules, input.disruptionBudgets, input.recent);
  }

  *decide(): Generator<undefined, DescheduleDecision> {
    const halt = haltOf(this.#input);
    const { workflows: all, rules } = this.#input;
    const workflows: WorkflowMoves[] = [];
    const candidates: Candidate[] = [];
    for (const one of all) {
      const workflow = new WorkflowMoves(one, rules);
      workflows.push(workflow);
      yield;
      candidates.push(...(yield* this.#candidatesOf(workflow)));
    }
    const memory = { streaks: streaksOf(candidates), campaigns: this.#campaigns };
    for (const one of workflows) this.#continue(one, halt);
    candidates.sort((a, b) => perMove(b) - perMove(a) || (a.key < b.key ? -1 : 1));
    const awaited = this.#largest(candidates);
    for (const candidate of candidates) {
      const larger = awaited.get(candidate.in) ?? null;
      // The larger move precedes all other moves of its workflow once it has paid often enough.
      if (larger !== null) this.#consider(larger, halt, larger);
      this.#consider(candidate, halt, larger);
    }
    return { halt, moves: this.#moves, rows: this.#rows.all, memory };
  }

  *#candidatesOf(workflow: WorkflowMoves): Generator<undefined, Candidate[]> {
    const { pods } = workflow.workflow;
    const found: Candidate[] = [];
    for (const pod of pods.keys()) {
      const singles = workflow.blind === null ? workflow.singles(pod) : [];
      found.push(...singles.map((proposal) => this.#candidate(workflow, proposal)));
      this.#rows.show(workflow, pod, singles[0] ?? null);
      yield;
    }
    if (workflow.blind !== null) return found;
    const single = new Set(found.map(({ proposal }) => proposal.moves[0]!.pod));
    const known = new Set(found.map(({ key }) => key));
    const larger = yield* this.#larger(workflow);
    const groups = yield* this.#groups(workflow, single);
    for (const proposal of [...this.#remembered(workflow), ...groups, ...larger]) {
      const candidate = this.#candidate(workflow, proposal);
      if (!known.has(candidate.key)) found.push(candidate);
      known.add(candidate.key);
    }
    return found;
  }

  *#groups(workflow: WorkflowMoves, single: ReadonlySet<number>): Generator<undefined, Proposal[]> {
    if (this.#input.rules.maxGroup < 2) return [];
    const first = [...workflow.workflow.pods.keys()]
      .filter((pod) => !single.has(pod))
      .map((pod) => ({ pod, cost: workflow.costOf(pod) }))
      .sort((a, b) => b.cost - a.cost)
      .slice(0, GROUPED_PODS);
    const groups: Proposal[] = [];
    for (const { pod } of first) {
      const group = workflow.group(pod);
      if (group !== null && workflow.pays(group)) groups.push(group);
      yield;
    }
    return groups;
  }

  *#larger(workflow: WorkflowMoves): Generator<undefined, Proposal[]> {
    const { nowMs, rules } = this.#input;
    const { maxGroup } = rules;
    if (maxGroup < 2 || this.#input.memory.campaigns.has(workflow.workflow.key)) return [];
    const replanning = new Replanning(workflow, rules, Math.round(nowMs / SEED_MS));
    const proposal = yield* proposeCampaign(workflow, replanning, maxGroup);
    return proposal !== null && workflow.pays(proposal) ? [proposal] : [];
  }

  #continue(workflow: WorkflowMoves, halt: Halt | null): void {
    const { memory, uids, rules } = this.#input;
    const { key } = workflow.workflow;
    const campaign = memory.campaigns.get(key);
    if (campaign === undefined || isDone(campaign, uids)) return;
    const rest = restOf(workflow, campaign, this.#resolver(workflow));
    const outcomes = rest === null ? [] : this.#advance(workflow, rest, { halt, runs: rules.rounds });
    // Waiting for this run's limits or for a healthy cluster is temporary; budgets of others can block for
    // ever.
    const isIdle = outcomes.every((outcome) => outcome === "infeasible" || outcome === "disruption_budget");
    const next = afterRun(campaign, isIdle);
    if (next !== null) this.#campaigns.set(key, next);
  }

  #advance(
    workflow: WorkflowMoves,
    whole: Proposal,
    { halt, runs }: { readonly halt: Halt | null; readonly runs: number },
  ): Outcome[] {
    const left = new Set(whole.moves);
    const outcomes: Outcome[] = [];
    while (left.size > 0) {
      const steps = [...left].map((one) => ({ move: one, step: workflow.judge([one]) }));
      const awaited = new Set(
        steps.flatMap(({ move: { node }, step: made }) => (made === null ? [node] : [])),
      );
      const rank = ({ move: { pod }, step: made }: (typeof steps)[number]): number =>
        made !== null && awaited.has(workflow.nodeOf(pod)) ? 1 : 0;
      const gainedBy = ({ step: made }: (typeof steps)[number]): number => made?.gain ?? -Infinity;
      const [next] = steps.sort((a, b) => rank(b) - rank(a) || gainedBy(b) - gainedBy(a));
      const { move, step } = next!;
      left.delete(move);
      const proposal = { ...whole, moves: [move] };
      const candidate = { in: workflow, proposal, whole, isLarge: false, key: "", runs };
      const detail = `part of a larger move of ${whole.moves.length} pods`;
      if (halt !== null) outcomes.push(this.#stay(candidate, "halted", halt.detail));
      else if (step === null)
        outcomes.push(this.#stay(candidate, "infeasible", `${detail}; not in this run`));
      else outcomes.push(this.#accepted(candidate, detail));
    }
    return outcomes;
  }

  /** Judges last run's proposals again, because a slightly better move must not reset the rounds. */
  #remembered(workflow: WorkflowMoves): Proposal[] {
    const { key } = workflow.workflow;
    const resolve = this.#resolver(workflow);
    const found: Proposal[] = [];
    for (const streak of this.#input.memory.streaks.values()) {
      if (streak.workflow !== key) continue;
      const moves = streak.moves.map(resolve).filter((move) => move !== null);
      if (moves.length < streak.moves.length) continue;
      const proposal = this.#isLarge(workflow, moves) ? workflow.judgeTogether(moves) : workflow.judge(moves);
      if (proposal !== null && workflow.pays(proposal)) found.push(proposal);
    }
    return found;
  }

  #isLarge(workflow: WorkflowMoves, moves: readonly PodMove[]): boolean {
    return isLarge(workflow, moves, this.#input.rules.maxGroup);
  }

  #resolver(workflow: WorkflowMoves): (move: Streak["moves"][number]) => PodMove | null {
    const { problem, pods } = workflow.workflow;
    const podOf = new Map(pods.map(({ uid }, pod) => [uid, pod]));
    const nodeOf = new Map(problem.nodes.map(({ name }, node) => [name, node]));
    return (move) => {
      const pod = podOf.get(move.uid);
      const node = nodeOf.get(move.node);
      return pod === undefined || node === undefined ? null : { pod, node };
    };
  }

  #candidate(workflow: WorkflowMoves, proposal: Proposal): Candidate {
    const key = streakKey(movesOf(workflow, proposal));
    const runs = (this.#input.memory.streaks.get(key)?.runs ?? 0) + 1;
    return {
      in: workflow,
      proposal,
      whole: null,
      isLarge: this.#isLarge(workflow, proposal.moves),
      key,
      runs,
    };
  }

  #largest(candidates: readonly Candidate[]): Map<WorkflowMoves, Candidate> {
    const largest = new Map<WorkflowMoves, Candidate>();
    for (const candidate of candidates) {
      const { in: workflow, proposal, isLarge: isOne } = candidate;
      const gains = proposal.gain > (largest.get(workflow)?.proposal.gain ?? 0);
      if (gains && isOne) largest.set(workflow, candidate);
    }
    return largest;
  }

  /** @returns null if an earlier proposal took one of its pods, or it became a campaign */
  #consider(candidate: Candidate, halt: Halt | null, larger: Candidate | null): Outcome | null {
    const { in: workflow, runs, proposal } = candidate;
    const { rules } = this.#input;
    const { key } = workflow.workflow;
    // A half-done campaign makes its own moves look worth undoing.
    if (this.#campaigns.has(key) || proposal.moves.some(({ pod }) => this.#rows.isMoved(workflow, pod)))
      return null;
    const isClear = workflow.pays(proposal, CLEAR_ERRORS);
    const { windowSeconds } = workflow.workflow.problem.cluster;
    const needed = isClear ? rules.rounds : Math.max(rules.rounds, runsOver(windowSeconds, rules.intervalMs));
    if (runs < needed)
      return this.#stay(candidate, "rounds", `it paid in ${runs} of ${needed} runs in a row`);
    if (halt !== null) return this.#stay(candidate, "halted", halt.detail);
    if (!candidate.isLarge) {
      if (larger !== null && larger.proposal.gain > proposal.gain && runs < PATIENCE * rules.rounds)
        return this.#stay(
          candidate,
          "rounds",
          `a larger move of ${larger.proposal.moves.length} pods gains more`,
        );
      return this.#accepted(candidate, "");
    }
    const blocker = this.#budgets.blockerOf(proposal.moves.map(({ pod }) => workflow.workflow.pods[pod]!));
    if (blocker !== null) return this.#stay(candidate, blocker.reason, blocker.detail);
    this.#campaigns.set(key, begunCampaign(movesOf(workflow, proposal)));
    this.#advance(workflow, proposal, { halt, runs });
    return null;
  }

  /** @param detail set for a part of a campaign, which need not gain by itself */
  #accepted(candidate: Candidate, detail: string): Outcome {
    const { in: workflow } = candidate;
    const pods = candidate.proposal.moves.map(({ pod }) => ({
      pod: workflow.workflow.pods[pod]!,
      workflow: workflow.workflow.key,
      node: workflow.workflow.problem.nodes[workflow.nodeOf(pod)]!.name,
    }));
    const isPart = candidate.whole !== null;
    const spent = this.#budgets.refusalOf(pods);
    if (spent !== null) return this.#stay(candidate, spent.reason, spent.detail);
    // Earlier moves of this run can change its gain or feasibility.
    const proposal = isPart ? candidate.proposal : workflow.judge(candidate.proposal.moves);
    if (proposal === null)
      return this.#stay(candidate, "infeasible", "an earlier move of this run is in its way");
    if (!isPart && !workflow.pays(proposal))
      return this.#stay(candidate, "margin", "after earlier moves of this run it gains too little");
    const refused = this.#refusedByCluster(workflow, proposal);
    if (refused !== null) return this.#stay(candidate, "infeasible", refused);
    this.#budgets.spend(pods);
    this.#accept(candidate, proposal, detail);
    return "move";
  }

  #accept({ in: workflow, whole, runs }: Candidate, proposal: Proposal, part: string): void {
    const { key, pods, problem } = workflow.workflow;
    const { moves } = proposal;
    const { gain, cost, moves: all } = whole ?? proposal;
    const names = moves.map(({ pod }) => pods[pod]!.name);
    for (const { pod, node } of moves) {
      const moved = pods[pod]!;
      const to = problem.nodes[node]!.name;
      const together = names.filter((name) => name !== moved.name);
      this.#moves.push({
        workflow: key,
        pod: moved,
        from: problem.nodes[workflow.nodeOf(pod)]!.name,
        to,
        together,
        isPart: whole !== null,
        worth: { kind: "cost", gain, cost, pods: all.length },
      });
      const detail = together.length === 0 ? part : `together with ${together.join(", ")}`;
      this.#rows.move(workflow, [{ pod, node }], whole ?? proposal, runs, detail);
      this.#input.cluster?.moved(moved, to);
    }
    workflow.commit(moves);
  }

  #refusedByCluster(workflow: WorkflowMoves, { moves }: Proposal): string | null {
    const { pods, problem } = workflow.workflow;
    for (const { pod, node } of moves) {
      const refused = this.#input.cluster?.verdict(pods[pod]!, problem.nodes[node]!.name) ?? null;
      if (refused !== null) return refused;
    }
    return null;
  }

  #stay(
    { in: workflow, proposal, whole, runs }: Candidate,
    decision: StayReason,
    detail: string,
  ): StayReason {
    this.#rows.stay(workflow, proposal.moves, whole ?? proposal, runs, decision, detail);
    return decision;
  }
}

function perMove({ proposal }: Candidate): number {
  return proposal.gain / proposal.moves.length;
}

function movesOf({ workflow }: WorkflowMoves, { moves }: Proposal): Streak["moves"] {
  return moves.map(({ pod, node }) => ({
    uid: workflow.pods[pod]!.uid,
    node: workflow.problem.nodes[node]!.name,
  }));
}

function streaksOf(candidates: readonly Candidate[]): DescheduleMemory["streaks"] {
  return new Map(
    candidates.map(({ in: workflow, proposal, key, runs }) => [
      key,
      { workflow: workflow.workflow.key, moves: movesOf(workflow, proposal), runs },
    ]),
  );
}

/** Number of runs after which the first and the last share no sample. */
function runsOver(windowSeconds: number, intervalMs: number): number {
  return intervalMs > 1000 * windowSeconds ? 1 : 1 + Math.ceil((1000 * windowSeconds) / intervalMs);
}
