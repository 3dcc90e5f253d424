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
  /** Share of the time in which other processes want the processor, in episodes. */
  readonly busyShare: number;
  /** Share of the packets that wait for it meanwhile. */
  readonly waitingShare: number;
  /** What such a packet waits for, mean. */
  readonly waitMs: number;
}

export const QUIET: Machine = { busyShare: 0, waitingShare: 0, waitMs: 0 };
/** Beside 20 busy processes on two cores: medians of few samples read tens of milliseconds. */
export const BUSY: Machine = { busyShare: 0.6, waitingShare: 0.45, waitMs: 35 };

/** Episodes have this mean length. */
const EPISODE_MS = 30_000;
/** A wake-up of a process on a machine with time. */
const WAKE_MS = 0.25;
/** On a busy machine probes come so many times as rarely. */
const PACE = 4;

/** Waits of packets: all nodes of the demo share one machine, so episodes are common. */
export class Waiting {
  readonly #machine: Machine;
  readonly #random: Random;
  #episode = { isBusy: false, untilMs: 0 };

  constructor(machine: Machine, random: Random) {
    this.#machine = machine;
    this.#random = random;
  }

  /** Whether a probe is sent now: a busy machine sends fewer. */
  isSent(atMs: number): boolean {
    return !this.#isBusy(atMs) || this.#random.next() < 1 / PACE;
  }

  /** The round trip of one packet; null: it is lost. */
  rttMs(link: TrueLink, atMs: number): number | null {
    if (link.cut || this.#random.next() < link.lossRatio) return null;
    const jitter = link.jitterMs * (2 * this.#random.next() - 1);
    const waits = this.#isBusy(atMs) && this.#random.next() < this.#machine.waitingShare;
    const wait = waits ? this.#machine.waitMs * this.#exponential() : 0;
    return Math.max(0.05, link.rttMs + jitter) + WAKE_MS * this.#exponential() + wait;
  }

  #isBusy(atMs: number): boolean {
    while (this.#episode.untilMs <= atMs) {
      const isBusy = this.#random.next() < this.#machine.busyShare;
      this.#episode = { isBusy, untilMs: this.#episode.untilMs + EPISODE_MS * this.#exponential() };
    }
    return this.#episode.isBusy;
  }

  #exponential(): number {
    return -Math.log(1 - this.#random.next());
  }
}
