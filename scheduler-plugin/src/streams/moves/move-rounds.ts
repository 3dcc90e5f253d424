import type { KubernetesObject } from "@isochrone/kubernetes";
import type { FlowNetwork, PathTable } from "@isochrone/streams";
import type { DecidedJob } from "../domain/decide.ts";
import type { StreamNode } from "../domain/planned-job.ts";
import { proposeMove } from "../domain/propose-move.ts";
import type { BesidePod } from "../job-writes.ts";
import type { KnownJob } from "../known-jobs.ts";
import type { TaskMoves } from "./task-moves.ts";

interface MoveRoundsOptions {
  readonly moves: TaskMoves;
  readonly hostOf: (uid: string, task: string) => string | null;
  readonly podOn: (job: KnownJob, task: string, node: string) => KubernetesObject | null;
  readonly toDecide: (job: KnownJob) => DecidedJob;
}

interface RoundEnd {
  readonly areFlowsApplied: (uid: string) => boolean;
  readonly isCalm: boolean;
  readonly known: readonly KnownJob[];
  readonly nodes: readonly StreamNode[];
  readonly networks: { readonly network: FlowNetwork; readonly paths: PathTable };
}

export class MoveRounds {
  readonly #moves: TaskMoves;
  readonly #options: MoveRoundsOptions;
  #areFlowsApplied: (uid: string) => boolean = () => false;

  constructor(options: MoveRoundsOptions) {
    this.#options = options;
    this.#moves = options.moves;
  }

  besides(uid: string): BesidePod | null {
    return this.#moves.besides(uid);
  }

  keep(uids: ReadonlySet<string>): void {
    this.#moves.keep(uids);
  }

  async advance(
    known: ReadonlyMap<string, KnownJob>,
  ): Promise<{ readonly uid: string; readonly task: string; readonly node: string } | null> {
    const { hostOf, podOn } = this.#options;
    const uid = this.#moves.moving;
    if (uid === null) return null;
    const job = known.get(uid);
    const step = await this.#moves.advance((task) =>
      job === undefined
        ? null
        : {
            host: hostOf(uid, task),
            podOn: (node) => podOn(job, task, node),
            areFlowsApplied: this.#areFlowsApplied(uid),
          },
    );
    return step === null ? null : { uid, ...step };
  }

  end({ areFlowsApplied, isCalm, known, nodes, networks: { network, paths } }: RoundEnd): void {
    this.#areFlowsApplied = areFlowsApplied;
    const { hostOf, podOn, toDecide, moves } = this.#options;
    if (!isCalm || !moves.isDue()) return;
    const byKey = new Map(known.map((job) => [job.key, job]));
    const move = proposeMove({
      network,
      paths,
      nodes,
      jobs: known.map(toDecide),
      margin: moves.margin,
      mayMove: (key, task) => {
        const job = byKey.get(key)!;
        const node = hostOf(job.uid, task);
        return node !== null && moves.mayMove(job.uid, podOn(job, task, node));
      },
    });
    moves.propose(move === null ? null : byKey.get(move.key)!.uid, move);
  }
}
