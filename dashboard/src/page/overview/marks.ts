import type { Decision } from "@isochrone/topology";
import { milliseconds, percent, plural } from "../model/format.ts";
import { failureOf, moveStateOf } from "../model/move.ts";

export interface Mark {
  readonly at: number;
  readonly kind: "move" | "fault" | "heal";
  readonly text: string;
}

interface EmulatedLink {
  readonly rttMs: number;
  readonly lossRatio: number;
  readonly cut: boolean;
}

export type LabMark =
  | {
      readonly at: string;
      readonly kind: "link";
      readonly source: string;
      readonly target: string;
      readonly before: EmulatedLink;
      readonly after: EmulatedLink;
    }
  | {
      readonly at: string;
      readonly kind: "move";
      readonly workload: string;
      readonly from: string;
      readonly to: string;
    }
  | { readonly at: string; readonly kind: "down"; readonly reason: string }
  | { readonly at: string; readonly kind: "killed"; readonly node: string };

/** Moves within this gap are merged, seconds. */
const TOGETHER = 15;

const seconds = (at: string): number => Date.parse(at) / 1000;

export function marksOf(marks: readonly LabMark[]): Mark[] {
  const told: Mark[] = [];
  let moves: Extract<LabMark, { kind: "move" }>[] = [];
  const tellMoves = (): void => {
    if (moves.length > 0) told.push(moveMark(moves));
    moves = [];
  };
  let last: LabMark | null = null;
  for (const mark of marks) {
    if (mark.kind === "move") {
      const before = moves.at(-1);
      if (before !== undefined && seconds(mark.at) - seconds(before.at) > TOGETHER) tellMoves();
      moves.push(mark);
    } else if (mark.kind === "down") {
      told.push({ at: seconds(mark.at), kind: "fault", text: `the network is down: ${mark.reason}` });
    } else if (mark.kind === "killed") {
      told.push({ at: seconds(mark.at), kind: "fault", text: `${mark.node} is killed` });
    } else if (!isWayBack(last, mark) && isChange(mark)) told.push(linkMark(mark));
    last = mark;
  }
  tellMoves();
  return told.sort((a, b) => a.at - b.at);
}

export function moveMarksOf(decisions: readonly Decision[]): Mark[] {
  const evictions = decisions.filter(({ kind }) => kind === "eviction");
  const moved = evictions.flatMap((decision): LabMark[] => {
    const { at, workload, pod, binding, outcome } = decision;
    const [from, to] = [binding?.node ?? null, outcome?.node ?? null];
    if (moveStateOf(decision) !== "moved" || from === null || to === null) return [];
    return [{ at: outcome?.at ?? at, kind: "move", workload: workload ?? pod.name, from, to }];
  });
  const others = evictions.flatMap((decision): Mark[] => {
    const { at, workload, pod, best, binding, outcome } = decision;
    const state = moveStateOf(decision);
    if (state === "moved") return [];
    const way = `${workload ?? pod.name}: ${binding?.node ?? "?"} → ${best ?? "?"}`;
    return state === "moving"
      ? [{ at: seconds(at), kind: "move", text: `${way}, moving` }]
      : [{ at: seconds(outcome?.at ?? at), kind: "fault", text: `${way} failed, ${failureOf(decision)}` }];
  });
  const marks = marksOf(moved.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)));
  return [...marks, ...others].sort((a, b) => a.at - b.at);
}

function moveMark(moves: readonly Extract<LabMark, { kind: "move" }>[]): Mark {
  const { workload, from, to, at } = moves[0]!;
  const text = moves.length === 1 ? `${workload}: ${from} → ${to}` : `${plural(moves.length, "pod")} moved`;
  return { at: seconds(at), kind: "move", text };
}

type LinkMark = Extract<LabMark, { kind: "link" }>;

/** Both directions of a link change at once: one event. */
function isWayBack(before: LabMark | null, mark: LinkMark): boolean {
  return (
    before?.kind === "link" &&
    before.source === mark.target &&
    before.target === mark.source &&
    before.after.cut === mark.after.cut &&
    before.after.lossRatio === mark.after.lossRatio &&
    Math.abs(seconds(mark.at) - seconds(before.at)) < 1
  );
}

const isChange = ({ before, after }: LinkMark): boolean =>
  before.cut !== after.cut || before.lossRatio !== after.lossRatio || before.rttMs !== after.rttMs;

function linkMark({ at, source, target, before, after }: LinkMark): Mark {
  const name = `${source} ↔ ${target}`;
  const mark = (kind: Mark["kind"], text: string): Mark => ({
    at: seconds(at),
    kind,
    text: `${name}: ${text}`,
  });
  if (after.cut !== before.cut) return after.cut ? mark("fault", "cut") : mark("heal", "healed");
  if (after.lossRatio !== before.lossRatio) {
    const isWorse = after.lossRatio > before.lossRatio;
    return mark(isWorse ? "fault" : "heal", `loses ${percent(after.lossRatio)}`);
  }
  const isWorse = after.rttMs > before.rttMs;
  return mark(isWorse ? "fault" : "heal", `${milliseconds(before.rttMs)} → ${milliseconds(after.rttMs)}`);
}
