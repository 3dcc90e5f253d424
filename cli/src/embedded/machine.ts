// Detects a busy machine and lowers the rates of probes and requests until it recovers.
import type { Clock } from "@isochrone/runtime";

export interface MachineState {
  readonly isBusy: boolean;
  /** A busy machine may be in time at lower rates. */
  readonly isLate: boolean;
  readonly lateMs: number;
  readonly load: number;
  readonly cores: number;
  /** Divisor of the request and probe rates. */
  readonly pace: number;
}

interface MachineWatchOptions {
  readonly clock: Clock;
  readonly load: () => number;
  readonly cores: number;
  /** Share of recent requests not answered in time; rejects if unknown. */
  readonly unanswered: () => Promise<number>;
  readonly setPace: (factor: number) => void;
  readonly onChange: (state: MachineState) => void;
}

const TICK_MS = 250;
const TICKS = 20;
const MAX_PACE = 8;
/** An idle machine wakes a process within milliseconds; beyond this, end-to-end times reflect the machine. */
const LATE_MS = 100;
const SOUND_MS = 50;
/** The embedded cluster alone has about one runnable process per core. */
const CROWDED_PER_CORE = 3;
const UNANSWERED = 0.2;
const SOUND_ROUNDS = 2;
/** Doubled up to this after each failed raise, so that a measurement fits in between. */
const MAX_SOUND_ROUNDS = 16;

export class MachineWatch {
  readonly #options: MachineWatchOptions;
  #state: MachineState;
  #soundRounds = 0;
  #neededRounds = SOUND_ROUNDS;
  #isRaised = false;

  constructor(options: MachineWatchOptions) {
    this.#options = options;
    this.#state = {
      isBusy: false,
      isLate: false,
      lateMs: 0,
      load: options.load(),
      cores: options.cores,
      pace: 1,
    };
  }

  get state(): MachineState {
    return this.#state;
  }

  /** Rejects with the signal's reason if aborted. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) this.#judge(await this.#lateness(signal), await this.#isUnanswered());
  }

  async #lateness(signal: AbortSignal): Promise<number> {
    const { clock } = this.#options;
    const lateMs: number[] = [];
    for (let tick = 0; tick < TICKS; tick++) {
      const startMs = clock.monotonic();
      await clock.sleep(TICK_MS, signal);
      lateMs.push(Math.max(0, clock.monotonic() - startMs - TICK_MS));
    }
    return lateMs.sort((a, b) => a - b)[Math.floor(0.9 * TICKS)]!;
  }

  async #isUnanswered(): Promise<boolean> {
    try {
      return (await this.#options.unanswered()) > UNANSWERED;
    } catch {
      return false;
    }
  }

  #judge(lateMs: number, unanswered: boolean): void {
    const { load: loadNow, cores, setPace, onChange } = this.#options;
    const before = this.#state;
    const load = loadNow();
    // Unanswered requests alone may mean a cut link.
    const isStrained = lateMs > LATE_MS || (unanswered && load > CROWDED_PER_CORE * cores);
    const isSound = lateMs < SOUND_MS && !isStrained;
    this.#soundRounds = isSound ? this.#soundRounds + 1 : 0;
    let { pace } = before;
    if (isStrained) {
      pace = Math.min(MAX_PACE, pace * 2);
      if (this.#isRaised) this.#neededRounds = Math.min(MAX_SOUND_ROUNDS, 2 * this.#neededRounds);
      this.#isRaised = false;
    } else if (this.#soundRounds >= this.#neededRounds) {
      this.#soundRounds = 0;
      if (pace === 1) this.#neededRounds = SOUND_ROUNDS;
      this.#isRaised = pace > 1;
      pace = Math.max(1, pace / 2);
    }
    this.#state = { isBusy: pace > 1, isLate: isStrained, lateMs, load, cores, pace };
    if (pace !== before.pace) setPace(pace);
    if (this.#state.isBusy !== before.isBusy) onChange(this.#state);
  }
}
