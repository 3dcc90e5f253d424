import type { DescheduleRow, StayReason } from "./deschedule-input.ts";
import type { Proposal } from "./proposal.ts";
import type { WorkflowMoves } from "./workflow-moves.ts";

/** One row per movable pod, about its best move. */
export class Rows {
  readonly #rows = new Map<string, DescheduleRow>();

  get all(): DescheduleRow[] {
    return [...this.#rows.values()];
  }

  isMoved(workflow: WorkflowMoves, pod: number): boolean {
    return this.#rows.get(workflow.workflow.pods[pod]!.uid)?.decision === "move";
  }

  /** Row of a pod until a move of it is considered. */
  show(workflow: WorkflowMoves, pod: number, single: Proposal | null): void {
    const { key, pods, problem } = workflow.workflow;
    const { uid, namespace, name } = pods[pod]!;
    const best = workflow.blind === null ? (single ?? workflow.best(pod)) : null;
    const gains = best !== null && best.gain > 0;
    this.#rows.set(uid, {
      workflow: key,
      namespace,
      pod: name,
      from: problem.nodes[workflow.nodeOf(pod)]!.name,
      to: gains ? problem.nodes[best.moves[0]!.node]!.name : null,
      cost: workflow.costOf(pod),
      gain: gains ? best.gain : 0,
      groupSize: 1,
      rounds: 0,
      decision: gains ? "margin" : "no_gain",
      detail: workflow.blind ?? (best === null ? "no other node admits it" : ""),
    });
  }

  /** @param whole all moves that gain together; `moves` may be a part */
  move(
    workflow: WorkflowMoves,
    moves: Proposal["moves"],
    whole: Proposal,
    runs: number,
    detail: string,
  ): void {
    this.#say(workflow, moves, whole, { rounds: runs, decision: "move", detail });
  }

  /** Records why a pod stays. Only the first reason counts. */
  stay(
    workflow: WorkflowMoves,
    moves: Proposal["moves"],
    whole: Proposal,
    runs: number,
    decision: StayReason,
    detail: string,
  ): void {
    const { pods } = workflow.workflow;
    const first = moves.filter(({ pod }) => this.#rows.get(pods[pod]!.uid)!.rounds === 0);
    this.#say(workflow, first, whole, { rounds: runs, decision, detail });
  }

  #say(
    { workflow: { pods, problem } }: WorkflowMoves,
    moves: Proposal["moves"],
    { gain, cost, moves: { length: groupSize } }: Proposal,
    said: Pick<DescheduleRow, "rounds" | "decision" | "detail">,
  ): void {
    for (const { pod, node } of moves) {
      const { uid } = pods[pod]!;
      const row = this.#rows.get(uid)!;
      this.#rows.set(uid, { ...row, to: problem.nodes[node]!.name, cost, gain, groupSize, ...said });
    }
  }
}
