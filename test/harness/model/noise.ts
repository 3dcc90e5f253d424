// Models a link measurement: the emulator's round trip and jitter, plus a busy machine's delay.
import type { Random } from "@isochrone/runtime";

export interface TrueLink {
  readonly rttMs: number;
  readonly jitterMs: number;
  readonly lossRatio: number;
  readonly cut: boolean;
}

export interface Machine {
  /** Share of the time with CPU contention, in episodes. */
  readonly busyShare: number;
  /** Share of packets that wait for the CPU during an episode. */
  readonly waitingShare: number;
  /** Mean wait of such a packet. */
  readonly waitMs: number;
}

export const QUIET: Machine = { busyShare: 0, waitingShare: 0, waitMs: 0 };
/** Measured next to 20 busy processes on two cores: medians of few samples read tens of milliseconds. */
export const BUSY: Machine = { busyShare: 0.6, waitingShare: 0.45, waitMs: 35 };

const EPISODE_MS = 30_000;
/** Wake-up latency of a process on an idle machine. */
const WAKE_MS = 0.25;
/** Factor by which probes are rarer on a busy machine. */
const PACE = 4;

/** Packet waits. All nodes of the demo share one machine, so they share the episodes. */
export class Waiting {
  readonly #machine: Machine;
  readonly #random: Random;
  #episode = { isBusy: false, untilMs: 0 };

  constructor(machine: Machine, random: Random) {
    this.#machine = machine;
    this.#random = random;
  }

  /** Whether a probe is sent now. A busy machine sends fewer. */
  isSent(atMs: number): boolean {
    return !this.#isBusy(atMs) || this.#random.next() < 1 / PACE;
  }

  /** Round trip of one packet. Null: lost. */
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
