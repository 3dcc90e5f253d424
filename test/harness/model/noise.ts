// What a probe of the embedded cluster measures of a link: the emulator's round trip and jitter, and what a
// machine that has other things to do adds.
import type { Random } from "@isochrone/runtime";

export interface TrueLink {
  readonly rttMs: number;
  readonly jitterMs: number;
  readonly lossRatio: number;
  readonly cut: boolean;
}

/** How busy the machine is. */
export interface Machine {
  /** Share of the time in which other processes hold the processor. @default 0 */
  readonly busyShare: number;
  /** While it is held, the mean of what a packet waits for. */
  readonly waitMs: number;
}

export const QUIET: Machine = { busyShare: 0, waitMs: 0 };
/** Beside 20 busy processes on two cores, as the demo's own logs show it. */
export const BUSY: Machine = { busyShare: 0.5, waitMs: 35 };

/** Episodes have this mean length. */
const EPISODE_MS = 12_000;
/** A wake-up of a process on a machine with time. */
const WAKE_MS = 0.25;
/** While the processor is held, probes come so many times as rarely. */
const PACE = 4;

/**
 * Episodes in which packets of one node wait, drawn for each node: a process that isn't scheduled delays all
 * that it measures.
 */
export class Waiting {
  readonly #machine: Machine;
  readonly #random: Random;
  readonly #untilMs = new Map<string, { isHeld: boolean; untilMs: number }>();

  constructor(machine: Machine, random: Random) {
    this.#machine = machine;
    this.#random = random;
  }

  isHeld(node: string, atMs: number): boolean {
    const { busyShare } = this.#machine;
    if (busyShare === 0) return false;
    let state = this.#untilMs.get(node);
    while (state === undefined || state.untilMs <= atMs) {
      const isHeld = this.#random.next() < busyShare;
      const fromMs = state?.untilMs ?? atMs;
      state = { isHeld, untilMs: fromMs + EPISODE_MS * this.#exponential() };
      this.#untilMs.set(node, state);
    }
    return state.isHeld;
  }

  /** Whether a probe is sent now: a busy machine sends fewer. */
  isSent(node: string, atMs: number): boolean {
    return !this.isHeld(node, atMs) || this.#random.next() < 1 / PACE;
  }

  /** The round trip of one packet; null: it is lost. */
  rttMs(link: TrueLink, node: string, atMs: number): number | null {
    if (link.cut || this.#random.next() < link.lossRatio) return null;
    const jitter = link.jitterMs * (2 * this.#random.next() - 1);
    const wait = this.isHeld(node, atMs) ? this.#machine.waitMs * this.#exponential() : 0;
    return Math.max(0.05, link.rttMs + jitter) + WAKE_MS * this.#exponential() + wait;
  }

  #exponential(): number {
    return -Math.log(1 - this.#random.next());
  }
}
