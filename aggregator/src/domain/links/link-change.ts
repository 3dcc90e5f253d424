// What of a link's window its figures are of: a cut or a new delay makes the panes before it the past.
// Everything here is a function of the
// panes, so that replicas, and an aggregator that has read its panes back, come to the same answer.
// docs/designs/009-reaction.md has the reasons.
import type { Quartiles } from "./rtt-part.ts";

/** One pane of a link. */
export interface PaneFacts {
  /** time / paneMs, a whole number. */
  readonly pane: number;
  /** Packets that were lost, or could not be sent. */
  readonly failures: number;
  /** Of its answers; null without any. */
  readonly rtt: Quartiles | null;
}

/** A pane with answers. */
type AnsweredPane = PaneFacts & { readonly rtt: Quartiles };

/** The panes since a link's last change. */
export interface LinkChange {
  /** Null: a cut that is as old as the window. */
  readonly firstPane: number | null;
  /** Null: the newest one. Answers after a cut are left out until they are enough. */
  readonly lastPane: number | null;
  readonly isCut: boolean;
  /** False while more panes may move it though nothing else changes. */
  readonly isSettled: boolean;
}

/** Losses in a row that are a cut at least: BFD's usual multiplier (RFC 5880). */
const CUT_LOSSES = 3;
/** How improbable the losses must be on a link that loses as many as this one did before. */
const CUT_PROBABILITY = 1e-6;
/** Answers after a cut that end it. */
const HEAL_ANSWERS = 3;
/** Panes after a cut that may have losses of the cut. */
const MIXED_PANES = 2;
/** Answers that a new delay is read from at least. */
const STEP_ANSWERS = 6;
/** How improbable the panes must be for a link whose panes were as they were before. */
const STEP_PROBABILITY = 2.5e-3;
/**
 * What a median must differ by to count as another delay: both of these, and more where medians move a lot
 * from pane to pane.
 */
const STEP_RATIO = 1.25;
const STEP_SECONDS = 0.5e-3;
/** Panes of a delay that another one is told from at least. */
const LEVEL_PANES = 3;
/** A step is this many times as large as three of four moves from one pane to the next, as logarithms. */
const STEP_MOVES = 1.5;
const MOVES_QUANTILE = 0.75;

/** The last change in the panes, oldest first; null when there is none that still stands. */
export function lastChange(panes: readonly PaneFacts[]): LinkChange | null {
  const walk = new Walk(leastRatio(panes));
  for (const facts of panes) walk.take(facts);
  return walk.result();
}

/** Whether a median differs so little from another that no step can begin with it. */
export function isNear(medianSeconds: number, otherSeconds: number): boolean {
  return (
    !isAbove(medianSeconds, otherSeconds, STEP_RATIO) && !isAbove(otherSeconds, medianSeconds, STEP_RATIO)
  );
}

function isAbove(seconds: number, otherSeconds: number, ratio: number): boolean {
  return seconds > otherSeconds * ratio && seconds > otherSeconds + STEP_SECONDS;
}

/**
 * By what factor another delay differs at least. Three of four moves of the median from one pane to the next
 * are noise: a step is one move,
 * a link that flaps or whose round trips scatter has many.
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

/** The chance of something that happened `count` times of `all`, never 0 or 1. */
function chanceOf(count: number, all: number): number {
  return (count + 0.5) / (all + 1);
}

/** Walks through the panes of a link. Its state is what is known up to the last one taken. */
class Walk {
  #firstPane: number | null = null;
  #isCut = false;
  /** Medians since the last change, and before what may become the next one. */
  #level = new Ascending();
  #answers = 0;
  #failures = 0;
  /** Panes without an answer that nothing followed yet. */
  #silence: { readonly firstPane: number; failures: number } | null = null;
  /** Panes with answers after a cut, while they are too few. */
  #healing: AnsweredPane[] = [];
  /** Between these. */
  #healingFailures = 0;
  /**
   * The last change is the end of a cut, and its panes have losses of the cut: of so many next ones, the
   * first without is where it begins.
   */
  #mixedPanes = 0;
  /** Panes with another delay that nothing contradicted yet. */
  #run: StepRun | null = null;
  readonly #ratio: number;

  constructor(ratio: number) {
    this.#ratio = ratio;
  }

  take(facts: PaneFacts): void {
    if (isAnswered(facts)) this.#takeAnswered(facts);
    else if (facts.failures > 0) this.#takeSilent(facts);
    // A pane without either says nothing: the probe, or what carries its records, was away.
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
    // What was never answered isn't known to have changed.
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
    // Losses of the cut are decided after its end, when they time out.
    const whole = this.#healing.findIndex(({ failures }) => failures === 0);
    const panes = this.#healing.slice(Math.max(0, whole));
    const failures = whole < 0 ? this.#healingFailures : 0;
    this.#begin(panes[0]!.pane, false);
    for (const healed of panes) this.#takeAnswered(healed);
    // A link that answers one packet in fifty isn't cut again for each fifty that it doesn't.
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
      // It was passing: the next one has to be clearer.
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
    // Of the pane that it begins in, half may be of before. In the others, three quarters have to be of now.
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

/** 1: above, -1: below, 0: like the others. */
type Side = -1 | 0 | 1;

interface StepRun {
  readonly side: Side;
  readonly panes: AnsweredPane[];
}

/** Where a median lies that isn't like the others. */
function sideOf(seconds: number, middle: number, ratio: number): Side {
  if (isAbove(seconds, middle, ratio)) return 1;
  return isAbove(middle, seconds, ratio) ? -1 : 0;
}

/** Numbers in order. */
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

  /** Null when there is none. */
  at(quantile: number): number | null {
    return this.#values[Math.floor(quantile * (this.#values.length - 1))] ?? null;
  }

  count(isCounted: (value: number) => boolean): number {
    return this.#values.filter(isCounted).length;
  }
}
