// What of a link's window its figures are of: a cut or a new delay makes the panes before it the past. Everything here is a function of the
// panes, so that replicas, and an aggregator that has read its panes back, come to the same answer. docs/designs/009-reaction.md has the reasons.

/** One pane of a link. */
export interface PaneFacts {
  /** time / paneMs, a whole number. */
  readonly pane: number;
  readonly answers: number;
  /** Packets that were lost, or could not be sent. */
  readonly failures: number;
  /** Median round-trip time, seconds; of no meaning without answers. */
  readonly medianSeconds: number;
}

/** The panes since a link's last change. */
export interface LinkChange {
  /** Null: a cut that is as old as the window. */
  readonly firstPane: number | null;
  /** Null: the newest one. Answers after a cut are left out until they are enough. */
  readonly lastPane: number | null;
  readonly isCut: boolean;
}

/** Losses in a row that are a cut at least: BFD's usual multiplier (RFC 5880). */
const CUT_LOSSES = 3;
/** How improbable the losses must be on a link that loses as many as this one did before. */
const CUT_PROBABILITY = 1e-6;
/** Answers after a cut that end it. */
const HEAL_ANSWERS = 3;
/** Answers that a new delay is read from at least. */
const STEP_ANSWERS = 6;
/** How improbable the panes must be for a link whose panes were as they were before. */
const STEP_PROBABILITY = 6e-3;
/** What a median must differ by to count as another delay: both of these, and more where medians scattered more before. */
const STEP_RATIO = 1.25;
const STEP_SECONDS = 0.5e-3;
/** So many panes say how much medians scatter. */
const SCATTER_PANES = 4;

/** The last change in the panes, oldest first; null when there is none that still stands. */
export function lastChange(panes: readonly PaneFacts[]): LinkChange | null {
  const walk = new Walk();
  for (const facts of panes) walk.take(facts);
  return walk.result();
}

/** Whether a median differs so little from another that no step can begin with it. */
export function isNear(medianSeconds: number, otherSeconds: number): boolean {
  return !isAbove(medianSeconds, otherSeconds, STEP_RATIO) && !isAbove(otherSeconds, medianSeconds, STEP_RATIO);
}

function isAbove(seconds: number, otherSeconds: number, ratio: number): boolean {
  return seconds > otherSeconds * ratio && seconds > otherSeconds + STEP_SECONDS;
}

/** The chance of something that happened `count` times of `all`, never 0 or 1. */
function chanceOf(count: number, all: number): number {
  return (count + 0.5) / (all + 1);
}

/** Walks through the panes of a link. Its state is what is known up to the last one taken. */
class Walk {
  #firstPane: number | null = null;
  #isCut = false;
  /** Since the last change, and before what may become the next one. */
  #level = new Level();
  #answers = 0;
  #failures = 0;
  /** Panes without an answer that nothing followed yet. */
  #silence: { readonly firstPane: number; failures: number } | null = null;
  /** Panes with answers after a cut, while they are too few. */
  #healing: PaneFacts[] = [];
  /** Panes with another delay that nothing contradicted yet. */
  #run: StepRun | null = null;

  take(facts: PaneFacts): void {
    if (facts.answers > 0) this.#takeAnswered(facts);
    else if (facts.failures > 0 && !this.#isCut) this.#takeSilent(facts);
    // A pane without either says nothing: the probe, or what carries its records, was away.
  }

  result(): LinkChange | null {
    const { firstPane, isCut } = { firstPane: this.#firstPane, isCut: this.#isCut };
    if (firstPane === null && !isCut) return null;
    const healing = this.#healing[0];
    return { firstPane, lastPane: healing === undefined ? null : healing.pane - 1, isCut };
  }

  #takeSilent({ pane, failures }: PaneFacts): void {
    this.#silence ??= { firstPane: pane, failures: 0 };
    this.#silence.failures += failures;
    if (this.#silence.failures < this.#lossesOfCut()) return;
    // What was never answered isn't known to have changed.
    this.#begin(this.#answers === 0 ? this.#firstPane : this.#silence.firstPane, true);
  }

  #lossesOfCut(): number {
    if (this.#answers === 0) return CUT_LOSSES;
    const chance = chanceOf(this.#failures, this.#answers + this.#failures);
    return Math.max(CUT_LOSSES, Math.log(CUT_PROBABILITY) / Math.log(chance));
  }

  #takeAnswered(facts: PaneFacts): void {
    if (this.#isCut) {
      this.#healing.push(facts);
      const answers = this.#healing.reduce((sum, healed) => sum + healed.answers, 0);
      if (answers < HEAL_ANSWERS) return;
      const panes = this.#healing;
      this.#begin(panes[0]!.pane, false);
      for (const healed of panes) this.#takeAnswered(healed);
      return;
    }
    this.#failures += facts.failures + (this.#silence?.failures ?? 0);
    this.#answers += facts.answers;
    this.#silence = null;
    this.#takeMedian(facts);
  }

  #takeMedian(facts: PaneFacts): void {
    const side = this.#level.sideOf(facts.medianSeconds);
    if (this.#run !== null && this.#run.side !== side) {
      // It was passing: the next one has to be clearer.
      for (const { medianSeconds } of this.#run.panes) this.#level.add(medianSeconds);
      this.#run = null;
    }
    if (side === 0) this.#level.add(facts.medianSeconds);
    else {
      this.#run ??= { side, panes: [] };
      this.#run.panes.push(facts);
      if (this.#isStep(this.#run)) this.#beginStep(this.#run.panes);
    }
  }

  #isStep({ side, panes }: StepRun): boolean {
    const answers = panes.reduce((sum, facts) => sum + facts.answers, 0);
    if (answers < STEP_ANSWERS) return false;
    const medians = panes.map(({ medianSeconds }) => medianSeconds);
    const edge = side > 0 ? Math.min(...medians) : Math.max(...medians);
    return this.#level.chanceBeyond(edge, side) ** panes.length <= STEP_PROBABILITY;
  }

  #beginStep(panes: readonly PaneFacts[]): void {
    this.#begin(panes[0]!.pane, false);
    for (const { medianSeconds, answers, failures } of panes) {
      this.#level.add(medianSeconds);
      this.#answers += answers;
      this.#failures += failures;
    }
  }

  #begin(firstPane: number | null, isCut: boolean): void {
    this.#firstPane = firstPane;
    this.#isCut = isCut;
    this.#level = new Level();
    this.#answers = 0;
    this.#failures = 0;
    this.#silence = null;
    this.#healing = [];
    this.#run = null;
  }
}

/** 1: above, -1: below, 0: like the others. */
type Side = -1 | 0 | 1;

interface StepRun {
  readonly side: Side;
  readonly panes: PaneFacts[];
}

/** The medians of panes of one delay. */
class Level {
  /** Ascending. */
  readonly #medians: number[] = [];

  add(seconds: number): void {
    let at = this.#medians.length;
    while (at > 0 && this.#medians[at - 1]! > seconds) at--;
    this.#medians.splice(at, 0, seconds);
  }

  /** Where a median lies that isn't like the others. */
  sideOf(seconds: number): Side {
    if (this.#medians.length === 0) return 0;
    const middle = this.#at(0.5);
    const ratio = this.#ratio();
    if (isAbove(seconds, middle, ratio)) return 1;
    return isAbove(middle, seconds, ratio) ? -1 : 0;
  }

  /** The chance of a pane whose median isn't clearly on this side of `edge`, by the panes that there were. */
  chanceBeyond(edge: number, side: Side): number {
    const ratio = this.#ratio();
    const count = this.#medians.filter((seconds) =>
      side > 0 ? !isAbove(edge, seconds, ratio) : !isAbove(seconds, edge, ratio),
    ).length;
    return chanceOf(count, this.#medians.length);
  }

  /** What half of the panes scatter by is no other delay. */
  #ratio(): number {
    if (this.#medians.length < SCATTER_PANES) return STEP_RATIO;
    const low = this.#at(0.25);
    return low > 0 ? Math.max(STEP_RATIO, this.#at(0.75) / low) : STEP_RATIO;
  }

  #at(quantile: number): number {
    return this.#medians[Math.floor(quantile * (this.#medians.length - 1))]!;
  }
}
