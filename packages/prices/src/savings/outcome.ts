import type { PodPlacement } from "@isochrone/topology";
import { allSteps } from "@isochrone/primitives/algorithms";
import { sumSteps, type Scene, type Sums } from "../bill.ts";
import { keyOf, type Billed, type Name } from "../billed.ts";
import { nodeOf, type Change } from "../change.ts";
import { exchangesOf, type Exchange } from "../exchanges.ts";
import type { Place } from "../place.ts";
import type { PriceTable } from "../table.ts";
import { placePairs } from "../zone-pairs.ts";
import type { ZoneAsk } from "./input.ts";

/** Maximum node pairs per channel; larger means take too long. */
const MAX_PAIRS = 100_000;

/** Money of priced bytes, and the number of unpriced bytes, as in the bill. */
export interface Sum {
  readonly perMonth: number | null;
  readonly unpricedBytesPerSecond: number;
  /** Mean over all requests; null: some round trip is unknown, or there are no calls. */
  readonly roundTripMs: number | null;
}

type RoundTripMs = (from: string, to: string) => number | null;

interface OutcomeInput {
  readonly scene: Scene;
  readonly channels: readonly Billed[];
  readonly table: PriceTable;
  readonly roundTripMs: RoundTripMs;
}

export class Outcome {
  readonly change: Change;
  readonly #input: OutcomeInput;
  readonly #exchanges: readonly Exchange[];
  readonly #money: Sums;

  constructor(input: OutcomeInput, change: Change) {
    const { scene, channels, table } = input;
    this.change = change;
    this.#input = input;
    this.#exchanges = [...exchangesOf(channels, { ...scene, change })];
    this.#money = allSteps(sumSteps(this.#exchanges, scene, table));
  }

  whole(): Sum {
    const { perMonth, unpricedBytesPerSecond } = this.#money.total;
    return { perMonth, unpricedBytesPerSecond, roundTripMs: this.#roundTrip(this.#exchanges) };
  }

  /**
   * Money of the whole workflow, since forwarded traffic changes too; round trips of the callee's callers.
   */
  ofCallee(callee: Name): Sum {
    const own = this.#exchanges.filter(({ billed: { target } }) => keyOf(target) === keyOf(callee));
    return { ...this.whole(), roundTripMs: this.#roundTrip(own) };
  }

  paidFor(callee: Name): number | null {
    const known = this.#money.channels.flatMap(({ target, perMonth }) =>
      keyOf(target) === keyOf(callee) && perMonth !== null ? [perMonth] : [],
    );
    return known.length === 0 ? null : known.reduce((sum, each) => sum + each, 0);
  }

  asksOf(callee: Name): ZoneAsk[] {
    const { placeOf } = this.#input.scene;
    const asks = new Map<string | null, { bytesPerSecond: number; requestsPerSecond: number | null }>();
    for (const { billed, callers } of this.#exchanges) {
      if (keyOf(billed.target) !== keyOf(callee)) continue;
      const { bytesPerSecond, requestsPerSecond } = billed.channel;
      const whole = callers.reduce((sum, { weight }) => sum + weight, 0);
      for (const { node, weight } of callers) {
        const zone = node === null ? null : (placeOf(node)?.zone ?? null);
        const share = whole > 0 ? weight / whole : 1 / callers.length;
        const ask = asks.get(zone) ?? { bytesPerSecond: 0, requestsPerSecond: 0 };
        ask.bytesPerSecond += share * (bytesPerSecond ?? 0);
        ask.requestsPerSecond =
          requestsPerSecond === null || ask.requestsPerSecond === null
            ? null
            : ask.requestsPerSecond + share * requestsPerSecond;
        asks.set(zone, ask);
      }
    }
    return Array.from(asks, ([zone, ask]) => ({ zone, ...ask }));
  }

  zonesOf(workload: Name, pods: readonly PodPlacement[]): number {
    const nodes = pods.map((pod) => nodeOf(this.change, workload, pod));
    const zones = nodes.flatMap((node) =>
      node === null ? [] : (this.#input.scene.placeOf(node)?.zone ?? []),
    );
    return new Set(zones).size;
  }

  #roundTrip(exchanges: readonly Exchange[]): number | null {
    const rates = ratesOf(exchanges);
    let [sum, whole] = [0, 0];
    for (const [index, exchange] of exchanges.entries()) {
      const rate = rates[index]!;
      if (rate === 0) continue;
      const mean = this.#meanOf(exchange);
      if (mean === null) return null;
      sum += rate * mean;
      whole += rate;
    }
    return whole > 0 ? sum / whole : null;
  }

  #meanOf({ scopes, callers, callees }: Exchange): number | null {
    const { roundTripMs, scene } = this.#input;
    const counts = [callers, callees].map((pods) => new Set(pods.map(({ node }) => node)).size);
    if (counts[0]! * counts[1]! > MAX_PAIRS) return null;
    let mean = 0;
    for (const { from, to, share } of nodePairs({ scopes, callers, callees }, scene)) {
      const ms = roundTripMs(from, to);
      if (ms === null) return null;
      mean += share * ms;
    }
    return mean;
  }
}

/** Requests, or bytes if not all requests are counted. */
function ratesOf(exchanges: readonly Exchange[]): number[] {
  const channels = exchanges.map(({ billed: { channel } }) => channel);
  const all = channels.every(({ requestsPerSecond }) => requestsPerSecond !== null);
  return channels.map(
    ({ requestsPerSecond, bytesPerSecond }) => (all ? requestsPerSecond : bytesPerSecond) ?? 0,
  );
}

interface NodePlace extends Place {
  readonly node: string;
}

function nodePairs(
  { scopes, callers, callees }: Omit<Exchange, "billed">,
  { placeOf }: Pick<Scene, "placeOf">,
) {
  const places = new Map<string, NodePlace>();
  const ofNode = (node: string): NodePlace | undefined => {
    const place = placeOf(node);
    if (place === undefined) return undefined;
    let found = places.get(node);
    if (found === undefined) places.set(node, (found = { ...place, node }));
    return found;
  };
  return placePairs(scopes, callers, callees, ofNode).map(({ from, to, share }) => ({
    from: from.node,
    to: to.node,
    share,
  }));
}
