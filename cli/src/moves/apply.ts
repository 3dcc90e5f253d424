import {
  appliedMovesPatch,
  KINDS,
  keyOf,
  moveOwnerOf,
  readAppliedMoves,
  readRelease,
} from "@isochrone/kubernetes";
import type { AppliedMove, KubernetesObject, ObjectRef } from "@isochrone/kubernetes";
import type { WorkflowPlanReport } from "@isochrone/placement";
import { createLogger, systemClock } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import { forgetMove, moveByHand, withdrawByHand } from "@isochrone/scheduler-plugin";
import type { HandMove, HandOutcome, MovingStore } from "@isochrone/scheduler-plugin";
import { createInterface } from "node:readline/promises";
import { planningOf, plansText, readPlans, type PlanOptions } from "../commands/plan.ts";
import { CommandError, usageError } from "../errors.ts";
import { graphClientOf } from "../graph-client.ts";
import { viewOf } from "../output/show.ts";
import { openMovingStore } from "./moving-store.ts";

type Print = (text: string) => void;

/** As descheduler.moveDeadlineMs and descheduler.coolDownMs. */
const WITHIN_MS = 5 * 60_000;
const COOL_DOWN_MS = 15 * 60_000;
/** A PodDisruptionBudget that refuses for longer will not change soon. */
const BUDGET_WITHIN_MS = 10_000;
const BUDGET_POLL_MS = 500;

/** Throws CommandError at the first move that misses its target. */
export async function applyCommand(namespace: string, options: PlanOptions, print: Print): Promise<void> {
  if (options.apply === true && options.undo === true)
    throw usageError("--apply and --undo exclude each other");
  if (options.watch !== undefined) throw usageError("--watch goes with neither --apply nor --undo");
  const opened = await openMovingStore(options);
  const ending = new AbortController();
  const onSignal = (): void =>
    ending.abort(new CommandError("interrupted: the move under way goes on by itself"));
  process.once("SIGINT", onSignal);
  try {
    const mover = new Mover({ store: opened.store, clock: systemClock, print, signal: ending.signal });
    if (options.undo === true) await undo(namespace, options, mover, print);
    else await apply(namespace, options, mover, print);
  } finally {
    process.off("SIGINT", onSignal);
    await opened.close();
  }
}

async function apply(namespace: string, options: PlanOptions, mover: Mover, print: Print): Promise<void> {
  const planning = await planningOf(options);
  const reports = await readPlans(graphClientOf(options), namespace, options, planning);
  print(viewOf(reports, { text: (shown) => plansText(namespace, shown) }).text());
  const moves = chosenMoves(namespace, reports, options.pods);
  if (moves.length === 0) return print("\nNothing is to be carried out.");
  await confirmed(`Move ${countOf(moves)} now?`, options);
  await mover.apply(moves);
  print(`\n${countOf(moves)} moved. isochrone plan ${namespace} --undo moves them back.`);
}

async function undo(namespace: string, options: PlanOptions, mover: Mover, print: Print): Promise<void> {
  const moves = await mover.appliedIn(namespace);
  if (moves.length === 0)
    return print(`no plan was carried out in namespace ${namespace} that could be undone`);
  for (const { pod, unfinished, from, to } of moves) {
    if (unfinished === null) print(`${pod ?? "(gone)"} ${from} -> ${to}`);
    else print(`${unfinished.metadata.name} stays on ${to}: its move to ${from} was interrupted`);
  }
  await confirmed(`Move ${countOf(moves)} back now?`, options);
  await mover.undo(moves);
  const made = moves.filter(({ unfinished }) => unfinished === null);
  if (made.length > 0) print(`\n${countOf(made)} moved back.`);
}

/** Currently possible moves, in step order. Throws CommandError for pods without one. */
function chosenMoves(
  namespace: string,
  reports: readonly WorkflowPlanReport[],
  pods: readonly string[] | undefined,
): HandMove[] {
  const all = reports.flatMap(({ moves }) => moves.filter(({ obstacle }) => obstacle === null));
  const missing = pods?.find((name) => all.every(({ pod }) => pod !== name));
  if (missing !== undefined)
    throw new CommandError(`--pods must name pods that the plan moves now, got ${missing}`);
  return all
    .filter(({ pod }) => pods === undefined || pods.includes(pod))
    .map(({ pod, from, to }) => ({ namespace, pod, from, to }));
}

function countOf({ length }: readonly unknown[]): string {
  return length === 1 ? "1 pod" : `${length} pods`;
}

async function confirmed(question: string, { yes = false }: PlanOptions): Promise<void> {
  if (yes) return;
  if (!process.stdin.isTTY) throw usageError("--yes is needed where nobody can be asked");
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await prompt.question(`${question} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("nothing was moved");
  } finally {
    prompt.close();
  }
}

interface MoverDeps {
  readonly store: MovingStore;
  readonly clock: Clock;
  readonly print: Print;
  readonly signal: AbortSignal;
}

interface BackMove {
  readonly owner: KubernetesObject;
  readonly applied: AppliedMove;
  /** Null: the controller has no pod there any more. */
  readonly pod: string | null;
  /** The pod left in place by an interrupted move; null: the move was made. */
  readonly unfinished: KubernetesObject | null;
  /** An earlier revert, interrupted before it evicted this pod. */
  readonly interrupted: KubernetesObject | null;
  readonly namespace: string;
  readonly from: string;
  readonly to: string;
}

class Mover {
  readonly #deps: MoverDeps;

  constructor(deps: MoverDeps) {
    this.#deps = deps;
  }

  async apply(moves: readonly HandMove[]): Promise<void> {
    const { clock } = this.#deps;
    const run = new Date(clock.now()).toISOString();
    for (const [index, move] of moves.entries()) {
      const { owner, podUid } = await this.#controlOf(move);
      const record = { order: index, podUid, from: move.from, to: move.to };
      if (owner !== null) await this.#record(owner, run, (before) => [...before, record]);
      const outcome = await this.#made(`${index + 1} of ${moves.length}`, move);
      if (outcome.outcome === "on_target") continue;
      if (owner !== null && outcome.outcome !== "elsewhere")
        await this.#record(owner, run, (before) => before.filter(({ order }) => order !== index));
      throw stopped(move, outcome, index);
    }
  }

  /** Reverse moves of the namespace's last executed plan, last one first. */
  async appliedIn(namespace: string): Promise<BackMove[]> {
    const { store } = this.#deps;
    const lists = [
      await store.list(KINDS.replicaSet, { namespace }),
      await store.list(KINDS.statefulSet, { namespace }),
    ];
    const { items: pods } = await store.list(KINDS.pod, { namespace });
    const applied = [KINDS.replicaSet, KINDS.statefulSet].flatMap((kind, at) =>
      lists[at]!.items.flatMap((object) => {
        const record = readAppliedMoves(object);
        return record === null ? [] : [{ owner: { ...kind, ...object }, ...record }];
      }),
    );
    const last = applied
      .map(({ run }) => run)
      .sort()
      .at(-1);
    const taken = new Set<string>();
    const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return applied
      .filter(({ run }) => run === last)
      .flatMap(({ owner, moves }) => moves.map((move) => ({ owner, move })))
      .sort((a, b) => b.move.order - a.move.order)
      .map(({ owner, move }) => {
        const { from, to, podUid } = move;
        const uid = owner.metadata.uid;
        const unfinished = alive.find(({ metadata }) => podUid !== "" && metadata.uid === podUid) ?? null;
        const there = alive.filter((pod) => !taken.has(keyOf(pod)) && pod.spec?.nodeName === to);
        const isInterrupted = (pod: KubernetesObject): boolean => {
          const release = readRelease(pod);
          return release?.replicaSet.uid === uid && release?.to === from;
        };
        const interrupted = there.find(isInterrupted) ?? null;
        const pod = interrupted ?? there.find((each) => moveOwnerOf(each)?.uid === uid);
        if (pod !== undefined && unfinished === null) taken.add(keyOf(pod));
        const name = pod?.metadata.name ?? null;
        return { owner, applied: move, pod: name, unfinished, interrupted, namespace, from: to, to: from };
      });
  }

  async undo(moves: readonly BackMove[]): Promise<void> {
    for (const [index, back] of moves.entries()) {
      const { owner, applied, pod, unfinished, interrupted, namespace, from, to } = back;
      const left = unfinished ?? interrupted;
      if (left !== null) await this.#withdraw(left);
      if (applied.podUid !== "") await forgetMove(refOf(owner), applied.podUid, this.#deps);
      if (unfinished !== null) this.#deps.print(`${unfinished.metadata.name} stays on ${to}`);
      else if (pod === null)
        this.#deps.print(
          `${owner.metadata.name}: no pod of it is on ${from} any more, so none is moved back`,
        );
      else {
        const move = { namespace, pod, from, to };
        const outcome = await this.#made(`${index + 1} of ${moves.length}`, move);
        if (outcome.outcome !== "on_target") throw stopped(move, outcome, index);
      }
      const ref = refOf(owner);
      const { run } = readAppliedMoves(owner)!;
      await this.#record(ref, run, (before) => before.filter(({ order }) => order !== applied.order));
    }
  }

  async #made(which: string, move: HandMove): Promise<HandOutcome> {
    const { store, clock, print, signal } = this.#deps;
    const { pod, from, to } = move;
    print(`moving ${which}: ${pod} ${from} -> ${to}`);
    const logger = createLogger({ service: "isochrone", level: "error" });
    const beganMs = clock.monotonic();
    const deps = { store, clock, logger, signal, withinMs: WITHIN_MS, coolDownMs: COOL_DOWN_MS };
    let outcome = await moveByHand(move, deps);
    // The budget counts a new replacement with a delay.
    while (isOverBudget(outcome) && clock.monotonic() - beganMs < BUDGET_WITHIN_MS) {
      await clock.sleep(BUDGET_POLL_MS, signal);
      outcome = await moveByHand(move, deps);
    }
    const seconds = Math.round((clock.monotonic() - beganMs) / 1_000);
    if (outcome.outcome === "on_target")
      print(`moved ${which}: ${outcome.replacement} is ready on ${to} after ${seconds} s`);
    return outcome;
  }

  async #withdraw(pod: KubernetesObject): Promise<void> {
    const { store, clock } = this.#deps;
    const logger = createLogger({ service: "isochrone", level: "error" });
    if (await withdrawByHand(pod, { store, clock, logger, coolDownMs: COOL_DOWN_MS })) return;
    throw new CommandError(`stopped: the interrupted move of ${pod.metadata.name} can't be withdrawn now`);
  }

  async #controlOf({ namespace, pod: name }: HandMove): Promise<{
    readonly owner: ObjectRef | null;
    readonly podUid: string;
  }> {
    const pod = await this.#deps.store.get({ ...KINDS.pod, namespace, name });
    const podUid = pod?.metadata.uid ?? "";
    const owner = pod === null ? null : moveOwnerOf(pod);
    if (owner === null) return { owner, podUid };
    const { uid: _, ...ref } = owner;
    return { owner: ref, podUid };
  }

  /** The first move of a new plan replaces earlier records on its controller. */
  async #record(
    ref: ObjectRef,
    run: string,
    change: (before: readonly AppliedMove[]) => readonly AppliedMove[],
  ): Promise<void> {
    const { store } = this.#deps;
    const owner = await store.get(ref);
    const known = owner === null ? null : readAppliedMoves(owner);
    const moves = change(known?.run === run ? known.moves : []);
    if (owner !== null) await store.patch(ref, appliedMovesPatch({ run, moves }));
  }
}

function refOf({ apiVersion, kind, metadata: { namespace = "default", name } }: KubernetesObject): ObjectRef {
  return { apiVersion, kind, namespace, name };
}

const WORDS = {
  elsewhere: "went elsewhere",
  lost: "was lost",
  refused: "was refused",
  withdrawn: "was withdrawn",
};

function isOverBudget(outcome: HandOutcome): boolean {
  return outcome.outcome === "refused" && outcome.detail === "pdb";
}

function stopped({ pod, to }: HandMove, outcome: HandOutcome, made: number): CommandError {
  if (outcome.outcome === "on_target") throw new Error("a move that reached its target stops nothing");
  const before = made === 0 ? "nothing was moved before it" : `${made} moved before it stay there`;
  return new CommandError(
    `stopped: the move of ${pod} to ${to} ${WORDS[outcome.outcome]}: ${outcome.detail}; ${before}`,
  );
}
