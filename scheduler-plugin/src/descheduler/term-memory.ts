// The state that a leader leaves to the next one, as text of bounded size. Most important first: whether
// moves help at all, unfinished moves, then what only makes the next leader wait again.
import type { Campaign, DescheduleMemory, RegretState, Streak } from "@isochrone/placement";
import { NO_MEMORY, NO_REGRET, streakKey } from "@isochrone/placement";
import { Type } from "typebox";
import type { Static } from "typebox";
import { Compile } from "typebox/compile";
import { recordOf } from "@isochrone/primitives";
import type { LeftNode } from "./decision/left-nodes.ts";
import type { SettledPod } from "./decision/settled-pods.ts";
import { shiftedMove, type ReplacedMove, type StartedMove } from "./started-moves.ts";

export interface OpenProposal {
  readonly workflow: string;
  readonly hasFailed: boolean;
}

export interface TermMemory {
  readonly regret: RegretState;
  readonly open: readonly OpenProposal[];
  readonly decision: DescheduleMemory;
  readonly left: readonly LeftNode[];
  readonly settled: readonly SettledPod[];
  readonly waiting: readonly StartedMove[];
  readonly unmeasured: readonly ReplacedMove[];
}

export const EMPTY_TERM_MEMORY: TermMemory = {
  regret: NO_REGRET,
  open: [],
  decision: NO_MEMORY,
  left: [],
  settled: [],
  waiting: [],
  unmeasured: [],
};

/** A quarter of Kubernetes' limit for all annotations of an object. */
export const MAX_MEMORY_BYTES = 64 * 1024;

const Count = Type.Integer({ minimum: 0 });
const Amount = Type.Number({ minimum: 0 });
const PodMoves = Type.Array(Type.Object({ uid: Type.String(), node: Type.String() }), { minItems: 1 });
const Latency = Type.Union([Type.Object({ ms: Amount, bytesPerSecond: Amount }), Type.Null()]);
// Optional: earlier versions don't write it.
const Worth = Type.Optional(
  Type.Union([Type.Object({ gainRatio: Type.Number(), pods: Count }), Type.Null()]),
);
const Started = {
  id: Type.String(),
  owner: Type.Object({
    apiVersion: Type.String(),
    kind: Type.String(),
    namespace: Type.String(),
    name: Type.String(),
    uid: Type.String(),
  }),
  namespace: Type.String(),
  pod: Type.String(),
  podUid: Type.String(),
  workflow: Type.String(),
  workload: Type.String(),
  from: Type.String(),
  to: Type.String(),
  atMs: Amount,
  deadlineMs: Amount,
  coolDownMs: Amount,
  before: Latency,
  expected: Latency,
  worth: Worth,
  release: Type.Optional(Type.Object({ before: Count })),
};
const Stopped = Type.Object({
  reason: Type.Union([Type.Literal("regret"), Type.Literal("failed_moves")]),
  detail: Type.String(),
});

const Kept = Type.Object({
  version: Type.Literal(1),
  regret: Type.Object({
    judged: Type.Array(
      Type.Union([
        Type.Object({
          atMs: Amount,
          beforeMs: Amount,
          expectedMs: Amount,
          afterMs: Amount,
          bytesPerSecond: Amount,
        }),
        Type.Object({ atMs: Amount, workflow: Type.String(), failure: Type.String() }),
      ]),
    ),
    failedProposals: Type.Optional(Count),
    stoppedUntilMs: Amount,
    stoppedBy: Type.Optional(Type.Union([Stopped, Type.Null()])),
    stops: Count,
  }),
  open: Type.Optional(Type.Array(Type.Object({ workflow: Type.String(), hasFailed: Type.Boolean() }))),
  campaigns: Type.Array(Type.Object({ workflow: Type.String(), moves: PodMoves, idleRuns: Count })),
  waiting: Type.Optional(Type.Array(Type.Object({ ...Started, siblings: Type.Array(Type.String()) }))),
  left: Type.Array(
    Type.Object({
      owner: Type.String(),
      node: Type.String(),
      atMs: Amount,
      workflow: Type.Optional(Type.String()),
    }),
  ),
  settled: Type.Optional(Type.Array(Type.Object({ pod: Type.String(), atMs: Amount, afterMs: Amount }))),
  unmeasured: Type.Array(
    Type.Object({
      move: Type.Object(Started),
      replacement: Type.Object({ name: Type.String(), node: Type.String(), readyMs: Amount }),
    }),
  ),
  streaks: Type.Array(Type.Object({ workflow: Type.String(), moves: PodMoves, runs: Count })),
});
type Kept = Static<typeof Kept>;

const LISTS = ["open", "waiting", "campaigns", "left", "settled", "unmeasured", "streaks"] as const;
const ROOM_BETWEEN = 1;

/** @param rounds cap of a streak: a larger one would change the text in every run */
export function memoryText(memory: TermMemory, rounds: number): string {
  const { regret, open, decision, left, settled, waiting, unmeasured } = memory;
  const streaks = [...decision.streaks.values()]
    .map((streak): Streak => ({ ...streak, runs: Math.min(streak.runs, rounds) }))
    .sort((a, b) => b.runs - a.runs);
  const lists: Required<Pick<Kept, (typeof LISTS)[number]>> = {
    open: [...open],
    waiting: waiting.map(({ release, ...move }) => {
      const owner = { ...move.owner, namespace: move.namespace };
      return { ...move, owner, siblings: [...move.siblings], ...(release === undefined ? {} : { release }) };
    }),
    campaigns: [...decision.campaigns].map(([workflow, { moves, idleRuns }]) => ({
      workflow,
      moves: moves.map(({ uid, node }) => ({ uid, node })),
      idleRuns,
    })),
    left: left.toReversed(),
    settled: settled.toReversed(),
    unmeasured: unmeasured.toReversed().map(({ move, replacement }) => ({
      // Its replacement is known, so its siblings aren't needed.
      move: { ...move, siblings: undefined } as Kept["unmeasured"][number]["move"],
      replacement,
    })),
    streaks: streaks.map(({ workflow, moves, runs }) => ({
      workflow,
      moves: moves.map(({ uid, node }) => ({ uid, node })),
      runs,
    })),
  };
  const kept = { version: 1, regret, ...recordOf(LISTS, (): unknown[] => []) };
  let room = MAX_MEMORY_BYTES - bytesOf(kept);
  for (const name of LISTS) {
    for (const entry of lists[name]) {
      const bytes = bytesOf(entry) + ROOM_BETWEEN;
      if (bytes > room) break;
      room -= bytes;
      kept[name].push(entry);
    }
  }
  return JSON.stringify(kept);
}

export function readMemory(text: string): TermMemory | null {
  const kept = keptOf(text);
  if (kept === null) return null;
  const { regret, open = [], campaigns, left, settled = [], waiting = [], unmeasured, streaks } = kept;
  const byWorkflow = campaigns.map(({ workflow, moves, idleRuns }): [string, Campaign] => [
    workflow,
    { moves, idleRuns },
  ]);
  return {
    regret: { ...NO_REGRET, ...regret },
    open,
    decision: {
      streaks: new Map(streaks.map((streak) => [streakKey(streak.moves), streak])),
      campaigns: new Map(byWorkflow),
    },
    settled: settled.toReversed(),
    left: left.toReversed().map((note) => ({ ...note, workflow: note.workflow ?? "" })),
    waiting: waiting.map((move) => {
      return { ...move, siblings: new Set(move.siblings), worth: move.worth ?? null };
    }),
    unmeasured: unmeasured.toReversed().map(({ move, replacement }) => {
      return { move: { ...move, siblings: new Set<string>(), worth: move.worth ?? null }, replacement };
    }),
  };
}

// Compiled at first use: most replicas never lead.
let validator: { Check(value: unknown): boolean } | undefined;

function keptOf(text: string): Kept | null {
  if (Buffer.byteLength(text) > MAX_MEMORY_BYTES) return null;
  validator ??= Compile(Kept);
  try {
    const value: unknown = JSON.parse(text);
    return validator.Check(value) ? (value as Kept) : null;
  } catch {
    return null;
  }
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Clips times to now, because the previous leader's clock may have been ahead. */
export function notAhead<M extends Pick<TermMemory, "left" | "settled" | "waiting" | "unmeasured">>(
  memory: M,
  nowMs: number,
): M {
  return {
    ...memory,
    left: memory.left.map((note) => ({ ...note, atMs: Math.min(note.atMs, nowMs) })),
    settled: memory.settled.map((note) => ({ ...note, atMs: Math.min(note.atMs, nowMs) })),
    waiting: memory.waiting.map((move) => movedBack(move, nowMs)),
    unmeasured: memory.unmeasured.map(({ move, replacement }) => ({
      move: movedBack(move, nowMs),
      replacement: { ...replacement, readyMs: Math.min(replacement.readyMs, nowMs) },
    })),
  };
}

function movedBack(move: StartedMove, nowMs: number): StartedMove {
  return shiftedMove(move, Math.min(0, nowMs - move.atMs));
}
