import type { CostField } from "../objective/cost-field.ts";
import type { CostModel } from "../objective/objective.ts";
import type { GroupLink, Traffic } from "../objective/traffic.ts";

/** Returns the error of the difference between two costs, bytes per second x milliseconds. */
export function gainNoise(model: CostModel, before: Int32Array, after: Int32Array): number {
  const moved = [...before.keys()].filter((pod) => before[pod] !== after[pod]);
  return gainError(model, moved, before, after);
}

/**
 * A link's error counts once for all channels on it, unchanged traffic cancels out, and other errors are
 * independent.
 * @param moved pods whose nodes differ
 */
export function gainError(
  { field, traffic }: { readonly field: CostField; readonly traffic: Traffic },
  moved: readonly number[],
  before: Int32Array,
  after: Int32Array,
): number {
  const links = new LinkRates(field);
  let square = 0;
  const counted = (at: Ends, { calling, called }: Exchange, sign: 1 | -1): number => {
    if (at.here < 0 || at.there < 0) return 0;
    links.add(at.here, at.there, sign * calling);
    links.add(at.there, at.here, sign * called);
    return sign * (calling * field.ms(at.here, at.there) + called * field.ms(at.there, at.here));
  };
  eachExchange(traffic, moved, (pod, peer, exchange) => {
    const there = (assignment: Int32Array): number => ("pod" in peer ? assignment[peer.pod]! : peer.location);
    const change =
      counted({ here: after[pod]!, there: there(after) }, exchange, 1) +
      counted({ here: before[pod]!, there: there(before) }, exchange, -1);
    square += (exchange.rateError * change) ** 2;
  });
  for (const channel of traffic.nearest) {
    if (!moved.some((pod) => channel.concerns(pod))) continue;
    channel.eachLink(before, (from, to, rate) => links.add(from, to, -rate));
    channel.eachLink(after, (from, to, rate) => links.add(from, to, rate));
    square += (channel.rateError * (channel.total(after) - channel.total(before))) ** 2;
  }
  return Math.sqrt(square + links.squaredError());
}

interface Ends {
  readonly here: number;
  readonly there: number;
}

type Exchange = Pick<GroupLink, "calling" | "called" | "rateError">;
type Peer = { readonly pod: number } | { readonly location: number };

function eachExchange(
  { groups, groupOf }: Traffic,
  moved: readonly number[],
  visit: (pod: number, peer: Peer, exchange: Exchange) => void,
): void {
  const visited = new Set<number>();
  for (const pod of moved) {
    visited.add(pod);
    const group = groups[groupOf[pod]!];
    for (const peer of group?.fixed ?? []) visit(pod, peer, peer);
    for (const link of group?.links ?? [])
      for (const peer of groups[link.group]!.pods) if (!visited.has(peer)) visit(pod, { pod: peer }, link);
  }
}

interface LinkRate {
  readonly from: number;
  readonly to: number;
  /** Net rate on this link, bytes per second. */
  rate: number;
  /** Sum of absolute rates, to detect a pure rounding rest. */
  added: number;
}

/** Bound on the rounding rest relative to `added`. */
const ROUNDING = 1e-9;
/** Above the number of locations; its square is a safe integer. */
const LOCATIONS = 2 ** 24;

class LinkRates {
  readonly #field: CostField;
  readonly #rates = new Map<number, LinkRate>();

  constructor(field: CostField) {
    this.#field = field;
  }

  add(from: number, to: number, rate: number): void {
    if (from === to || from < 0 || to < 0 || rate === 0) return;
    const key = from * LOCATIONS + to;
    const known = this.#rates.get(key);
    if (known === undefined) this.#rates.set(key, { from, to, rate, added: Math.abs(rate) });
    else {
      known.rate += rate;
      known.added += Math.abs(rate);
    }
  }

  /** Both directions of a node pair are one link: their errors add linearly. */
  squaredError(): number {
    let square = 0;
    for (const link of this.#rates.values()) {
      const { from, to } = link;
      const back = this.#rates.get(to * LOCATIONS + from);
      if (back !== undefined && from > to) continue;
      const error = this.#errorOf(link) + (back === undefined ? 0 : this.#errorOf(back));
      square += error ** 2;
    }
    return square;
  }

  #errorOf({ from, to, rate, added }: LinkRate): number {
    return Math.abs(rate) <= ROUNDING * added ? 0 : Math.abs(rate) * this.#field.errorMs(from, to);
  }
}
