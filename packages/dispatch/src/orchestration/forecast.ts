// Isochrone's orchestration: rates by exponential mean and deviation; replicas that bring most requests in
// time per memory.
import { isWorthItsImage } from "../image-price.ts";
import { Draft, replicaCounts, type FrameView, type Orchestrator } from "../orchestrator.ts";
import { shareServed } from "../queueing.ts";
import { expectedRate, rateAfter, type KnownRate } from "../rate-forecast.ts";
import type { NodeState, SystemState } from "../system.ts";

interface ForecastOptions {
  /** Replicas added per frame. @default 2 */
  readonly changes?: number;
  readonly pricePerMb?: number;
  /** Use the next frame's actual rates, for upper bounds. @default false */
  readonly knowsRates?: boolean;
}

const CHANGES = 2;
const SLACK = 1.3;
const LEAST_GAIN = 1e-3;

export function forecast(options: ForecastOptions = {}): Orchestrator {
  const { knowsRates = false } = options;
  const rates = new RateForecast();
  return {
    name: knowsRates ? "true-rates" : "forecast",
    decide(frame) {
      const perSecond = knowsRates ? frame.upcoming() : rates.after(frame);
      return new Moves(frame.state, perSecond, options).changes();
    },
  };
}

class RateForecast {
  #rates: readonly KnownRate[] | null = null;

  after({ arrivals, frameSeconds }: FrameView): readonly number[] {
    const before = this.#rates;
    this.#rates = arrivals.map((rate, at) => rateAfter(before?.[at] ?? null, rate, frameSeconds));
    return this.#rates.map(expectedRate);
  }
}

interface Room {
  readonly node: NodeState;
  readonly leaving: readonly number[];
}

class Moves {
  readonly #state: SystemState;
  readonly #rates: readonly number[];
  readonly #counts: Int32Array;
  readonly #draft: Draft;
  readonly #most: number;
  readonly #pricePerMb: number | undefined;
  readonly #given = new Set<number>();

  constructor(
    state: SystemState,
    rates: readonly number[],
    { changes = CHANGES, pricePerMb }: ForecastOptions,
  ) {
    this.#state = state;
    this.#rates = rates;
    this.#counts = replicaCounts(state);
    this.#draft = new Draft(state);
    this.#most = changes;
    this.#pricePerMb = pricePerMb;
  }

  changes(): Draft["changes"] {
    for (let added = 0; added < this.#most;) {
      const service = this.#wanted();
      if (service === null) break;
      const gain = this.#gain(service, 1);
      const room = this.#roomFor(service) ?? this.#madeRoomFor(service, gain);
      if (room === null || !this.#isWorthItsImage(service, room.node, gain)) {
        this.#given.add(service);
        continue;
      }
      for (const leaving of room.leaving)
        if (this.#draft.remove(room.node, leaving, `worth less than service ${service}`))
          this.#counts[leaving]!--;
      const reason = `${gain.toFixed(2)} requests/s more in time at ${this.#rates[service]!.toFixed(2)}/s`;
      if (this.#draft.add(room.node, service, reason)) this.#counts[service]!++;
      added++;
    }
    return this.#draft.changes;
  }

  #wanted(): number | null {
    let best: number | null = null;
    let most = LEAST_GAIN;
    for (const [service, { memoryGb }] of this.#state.services.entries()) {
      const gain = this.#given.has(service) ? 0 : this.#gain(service, 1) / memoryGb;
      if (gain > most) [best, most] = [service, gain];
    }
    return best;
  }

  /** Requests/s in time gained by adding, or lost by removing, a replica. */
  #gain(service: number, more: 1 | -1): number {
    const count = this.#counts[service]!;
    const rate = this.#rates[service]!;
    const { workSeconds } = this.#state.services[service]!;
    const share = (replicas: number): number => shareServed(replicas, rate, workSeconds, SLACK * workSeconds);
    return rate * more * (share(count + more) - share(count));
  }

  #roomFor(service: number): Room | null {
    let best: NodeState | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (const node of this.#state.nodes) {
      if (!this.#draft.hasRoom(node, service)) continue;
      const image = node.cached[service] === 1 ? 1 : 0;
      const score = this.#spokenFor(node) + 0.2 * this.#draft.replicas(node, service) - image;
      if (score < least) [best, least] = [node, score];
    }
    return best === null ? null : { node: best, leaving: [] };
  }

  #spokenFor(node: NodeState): number {
    let cores = 0;
    for (const [service, { workSeconds, cores: each }] of this.#state.services.entries()) {
      const busy = (this.#rates[service]! * workSeconds) / Math.max(1, this.#counts[service]!);
      cores += Math.min(1, busy) * this.#draft.replicas(node, service) * each;
    }
    return cores / node.cores;
  }

  #madeRoomFor(service: number, gain: number): Room | null {
    let best: Room | null = null;
    let least = gain;
    for (const node of this.#state.nodes) {
      const leaving = this.#leaving(node, service);
      if (leaving === null || leaving.cost >= least) continue;
      least = leaving.cost;
      best = { node, leaving: leaving.services };
    }
    return best;
  }

  #leaving(node: NodeState, wanted: number): { services: number[]; cost: number } | null {
    const { services } = this.#state;
    const gone: number[] = [];
    let free = this.#draft.freeGb(node);
    let cost = 0;
    while (free < services[wanted]!.memoryGb) {
      let next: number | null = null;
      let least = Number.POSITIVE_INFINITY;
      for (const service of services.keys()) {
        const already = gone.filter((one) => one === service).length;
        if (service === wanted || this.#draft.removable(node, service) <= already) continue;
        if (this.#counts[service]! <= 1) continue;
        const loss = this.#gain(service, -1);
        if (loss < least) [next, least] = [service, loss];
      }
      if (next === null) return null;
      gone.push(next);
      cost += least;
      free += services[next]!.memoryGb;
    }
    return { services: gone, cost };
  }

  #isWorthItsImage(service: number, node: NodeState, gain: number): boolean {
    if (node.cached[service] === 1) return true;
    return isWorthItsImage(gain, this.#state.services[service]!.imageMb, this.#pricePerMb);
  }
}
