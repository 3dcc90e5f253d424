import type { CostField } from "../objective/cost-field.ts";
import type { CostModel } from "../objective/objective.ts";
import type { GroupLink, Traffic } from "../objective/traffic.ts";

/**
 * How far the difference between the costs of two assignments may be from the truth, because links and rates
 * are measured with an error. Bytes per second x milliseconds.
 */
export function gainNoise(model: CostModel, before: Int32Array, after: Int32Array): number {
  const moved = [...before.keys()].filter((pod) => before[pod] !== after[pod]);
  return gainError(model, moved, before, after);
}

/**
 * The same where the pods that move are known. Channels that share a link share its error, so it counts once
 * for the sum of their rates; what both assignments send over a link cancels out. Errors of different links
 * and of different channels' rates are independent.
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
  /** What both ends of an exchange send costs in `at`, and is added to the links. */
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

/** Visits each pair of a moved pod and a peer once. */
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
  /** What the gain counts of this link, bytes per second. */
  rate: number;
  /** The sum of what was added, without signs: what is left of it after rounding is nothing. */
  added: number;
}

/** Rounding leaves at most this share of what was added to a link. */
const ROUNDING = 1e-9;
/** More than there are locations; the product of two is a safe integer. */
const LOCATIONS = 2 ** 24;

/** By link and direction, the rates that the gain counts. */
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

  /** The two directions of a pair of nodes are one link: their errors add up. */
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
