// Finds the part of a link's window that its figures use: a cut or a step of the delay makes earlier panes
// obsolete. Pure functions of the panes, so that replicas agree, also after a restart. Reasons:
// docs/designs/009-reaction.md.
import type { Quartiles } from "./rtt-part.ts";

export interface PaneFacts {
  readonly pane: number;
  /** Packets that were lost, or could not be sent. */
  readonly failures: number;
  /** Null: no answers. */
  readonly rtt: Quartiles | null;
}

type AnsweredPane = PaneFacts & { readonly rtt: Quartiles };

export interface LinkChange {
  /** Null: a cut that is as old as the window. */
  readonly firstPane: number | null;
  /** Null: up to the newest pane. Answers after a cut do not count until there are enough. */
  readonly lastPane: number | null;
  readonly isCut: boolean;
  /** False: later panes may still move the change. */
  readonly isSettled: boolean;
}

/** Minimum number of consecutive losses for a cut: BFD's usual multiplier (RFC 5880). */
const CUT_LOSSES = 3;
/** Maximum probability of the losses under the link's previous loss ratio. */
const CUT_PROBABILITY = 1e-6;
const HEAL_ANSWERS = 3;
/** Panes after a cut that may still contain its losses. */
const MIXED_PANES = 2;
const STEP_ANSWERS = 6;
/** Maximum probability of the panes under the previous delay. */
const STEP_PROBABILITY = 2.5e-3;
/** Minimum change of the median for a step: both limits apply. Raised for links with noisy medians. */
const STEP_RATIO = 1.25;
const STEP_SECONDS = 0.5e-3;
/** Minimum number of panes before a step. */
const LEVEL_PANES = 3;
/** Minimum step, as a multiple of the third quartile of moves between panes, in logarithms. */
const STEP_MOVES = 1.5;
const MOVES_QUANTILE = 0.75;

export function lastChange(panes: readonly PaneFacts[]): LinkChange | null {
  const walk = new Walk(leastRatio(panes));
  for (const facts of panes) walk.take(facts);
  return walk.result();
}

export function isNear(medianSeconds: number, otherSeconds: number): boolean {
  return (
    !isAbove(medianSeconds, otherSeconds, STEP_RATIO) && !isAbove(otherSeconds, medianSeconds, STEP_RATIO)
  );
}

function isAbove(seconds: number, otherSeconds: number, ratio: number): boolean {
  return seconds > otherSeconds * ratio && seconds > otherSeconds + STEP_SECONDS;
}

/**
 * Minimum factor of a step. The third quartile of the median's moves between panes is noise: a step is one
 * move, a flapping or noisy link has many.
 */
function leastRatio(panes: readonly PaneFacts[]): number {
  const moves = new Ascending();
  let last: number | null = null;
  for (const { rtt } of panes) {
    if (rtt === null) continue;
    const seconds = rtt.median;
    if (last !== null && last > 0 && seconds > 0) moves.add(Math.max(seconds / last, last / seconds));
    last = seconds;
  }
  return Math.max(STEP_RATIO, (moves.at(MOVES_QUANTILE) ?? 1) ** STEP_MOVES);
}

function isAnswered(facts: PaneFacts): facts is AnsweredPane {
  return facts.rtt !== null;
}

function answersOf(panes: readonly AnsweredPane[]): number {
  return panes.reduce((sum, { rtt }) => sum + rtt.count, 0);
}

/** Estimates a probability from `count` of `all`; never 0 or 1. */
function chanceOf(count: number, all: number): number {
  return (count + 0.5) / (all + 1);
}

/** State machine over the panes of a link. */
class Walk {
  #firstPane: number | null = null;
  #isCut = false;
  /** Medians since the last change, excluding a candidate step. */
  #level = new Ascending();
  #answers = 0;
  #failures = 0;
  #silence: { readonly firstPane: number; failures: number } | null = null;
  #healing: AnsweredPane[] = [];
  #healingFailures = 0;
  /** Remaining panes after a cut that may contain its losses. The change starts at the first without. */
  #mixedPanes = 0;
  #run: StepRun | null = null;
  readonly #ratio: number;

  constructor(ratio: number) {
    this.#ratio = ratio;
  }

  take(facts: PaneFacts): void {
    if (isAnswered(facts)) this.#takeAnswered(facts);
    else if (facts.failures > 0) this.#takeSilent(facts);
    // A pane without answers or failures tells nothing: the probe or its transport was away.
  }

  result(): LinkChange | null {
    const { firstPane, isCut } = { firstPane: this.#firstPane, isCut: this.#isCut };
    if (firstPane === null && !isCut) return null;
    const healing = this.#healing[0];
    const lastPane = healing === undefined ? null : healing.pane - 1;
    return { firstPane, lastPane, isCut, isSettled: !isCut && this.#mixedPanes === 0 };
  }

  #takeSilent({ pane, failures }: PaneFacts): void {
    if (this.#isCut) {
      if (this.#healing.length > 0) this.#healingFailures += failures;
      return;
    }
    this.#silence ??= { firstPane: pane, failures: 0 };
    this.#silence.failures += failures;
    if (this.#silence.failures < this.#lossesOfCut()) return;
    // A link that never answered has no known change.
    this.#begin(this.#answers === 0 ? this.#firstPane : this.#silence.firstPane, true);
  }

  #lossesOfCut(): number {
    // Fewer answers would not have ended a cut either.
    if (this.#answers < HEAL_ANSWERS) return CUT_LOSSES;
    const chance = chanceOf(this.#failures, this.#answers + this.#failures);
    return Math.max(CUT_LOSSES, Math.log(CUT_PROBABILITY) / Math.log(chance));
  }

  #takeAnswered(facts: AnsweredPane): void {
    if (this.#isCut) {
      this.#healing.push(facts);
      if (answersOf(this.#healing) >= HEAL_ANSWERS) this.#heal();
      return;
    }
    if (this.#mixedPanes > 0) this.#beginWhole(facts);
    this.#failures += facts.failures + (this.#silence?.failures ?? 0);
    this.#answers += facts.rtt.count;
    this.#silence = null;
    this.#takeMedian(facts);
  }

  #heal(): void {
    // Losses of the cut are counted at their timeout, after its end.
    const whole = this.#healing.findIndex(({ failures }) => failures === 0);
    const panes = this.#healing.slice(Math.max(0, whole));
    const failures = whole < 0 ? this.#healingFailures : 0;
    this.#begin(panes[0]!.pane, false);
    for (const healed of panes) this.#takeAnswered(healed);
    // Prevents repeated cuts of a link that answers rarely, such as one packet in fifty.
    this.#failures += failures;
    this.#mixedPanes = whole < 0 && panes.length <= MIXED_PANES ? MIXED_PANES : 0;
  }

  #beginWhole({ pane, failures }: AnsweredPane): void {
    const left = this.#mixedPanes - 1;
    this.#begin(pane, false);
    this.#mixedPanes = failures > 0 ? left : 0;
  }

  #takeMedian(facts: AnsweredPane): void {
    const side =
      this.#level.size < LEVEL_PANES ? 0 : sideOf(facts.rtt.median, this.#level.at(0.5)!, this.#ratio);
    if (this.#run !== null && this.#run.side !== side) {
      // The candidate was transient; the next one must be clearer.
      for (const { rtt } of this.#run.panes) this.#level.add(rtt.median);
      this.#run = null;
    }
    if (side === 0) this.#level.add(facts.rtt.median);
    else {
      this.#run ??= { side, panes: [] };
      this.#run.panes.push(facts);
      if (this.#isStep(this.#run)) this.#beginStep(this.#run.panes);
    }
  }

  #isStep({ side, panes }: StepRun): boolean {
    if (answersOf(panes) < STEP_ANSWERS) return false;
    // The first pane may be half old, so use its median. In later panes three quarters must be new.
    const seconds = panes.map(({ rtt }, index) => (index === 0 ? rtt.median : side > 0 ? rtt.low : rtt.high));
    const edge = side > 0 ? Math.min(...seconds) : Math.max(...seconds);
    const ratio = this.#ratio;
    const among = this.#level.count((seconds) =>
      side > 0 ? !isAbove(edge, seconds, ratio) : !isAbove(seconds, edge, ratio),
    );
    return chanceOf(among, this.#level.size) ** panes.length <= STEP_PROBABILITY;
  }

  #beginStep(panes: readonly AnsweredPane[]): void {
    this.#begin(panes[0]!.pane, false);
    for (const { rtt, failures } of panes) {
      this.#level.add(rtt.median);
      this.#answers += rtt.count;
      this.#failures += failures;
    }
  }

  #begin(firstPane: number | null, isCut: boolean): void {
    this.#firstPane = firstPane;
    this.#isCut = isCut;
    this.#level = new Ascending();
    this.#answers = 0;
    this.#failures = 0;
    this.#silence = null;
    this.#healing = [];
    this.#healingFailures = 0;
    this.#mixedPanes = 0;
    this.#run = null;
  }
}

/** 1: above, -1: below, 0: near. */
type Side = -1 | 0 | 1;

interface StepRun {
  readonly side: Side;
  readonly panes: AnsweredPane[];
}

function sideOf(seconds: number, middle: number, ratio: number): Side {
  if (isAbove(seconds, middle, ratio)) return 1;
  return isAbove(middle, seconds, ratio) ? -1 : 0;
}

class Ascending {
  readonly #values: number[] = [];

  get size(): number {
    return this.#values.length;
  }

  add(value: number): void {
    let at = this.#values.length;
    while (at > 0 && this.#values[at - 1]! > value) at--;
    this.#values.splice(at, 0, value);
  }

  at(quantile: number): number | null {
    return this.#values[Math.floor(quantile * (this.#values.length - 1))] ?? null;
  }

  count(isCounted: (value: number) => boolean): number {
    return this.#values.filter(isCounted).length;
  }
}
