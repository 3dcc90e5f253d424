// Models the received share of each replica: an upstream change shifts what it forwards.
import type { PodPlacement, RoutingScope } from "@isochrone/topology";
import type { Place, PlaceOf } from "./place.ts";

interface End {
  readonly key: string;
  readonly pods: readonly PodPlacement[];
}

export interface Inflow {
  readonly source: End;
  readonly target: End;
  /** Requests per second, else bytes; compared with the target's other channels. */
  readonly rate: number;
  readonly scopes: readonly RoutingScope[] | null;
  /** Sending weight per source pod, used until its received share is known. */
  readonly weights: readonly number[];
}

interface Placement {
  readonly placeOf: PlaceOf;
  readonly nodeOf: (workload: string, pod: PodPlacement) => string | null;
}

/** Maximum length of followed call chains, which bounds cycles. */
const MAX_DEPTH = 32;
const SETTLED = 1e-9;

/**
 * Share per pod of each receiving workload, in pod order. Callers forward in proportion to what they receive.
 */
export function inflowShares(
  inflows: readonly Inflow[],
  placement: Placement,
): ReadonlyMap<string, Float64Array> {
  const routes = inflows.filter(({ rate }) => rate > 0).map((inflow) => new Route(inflow, placement));
  let shares: ReadonlyMap<string, Float64Array> = new Map();
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const next = step(routes, shares);
    if (isSame(shares, next)) break;
    shares = next;
  }
  return shares;
}

function step(
  routes: readonly Route[],
  before: ReadonlyMap<string, Float64Array>,
): ReadonlyMap<string, Float64Array> {
  const shares = new Map<string, Float64Array>();
  for (const route of routes) {
    const { source, target, rate } = route.inflow;
    let received = shares.get(target.key);
    if (received === undefined) shares.set(target.key, (received = new Float64Array(target.pods.length)));
    route.addTo(received, before.get(source.key) ?? route.inflow.weights, rate);
  }
  for (const received of shares.values()) {
    const sum = received.reduce((all, each) => all + each, 0);
    if (sum > 0) for (const pod of received.keys()) received[pod]! /= sum;
  }
  return shares;
}

function isSame(a: ReadonlyMap<string, Float64Array>, b: ReadonlyMap<string, Float64Array>): boolean {
  if (a.size !== b.size) return false;
  return [...a].every(([key, shares]) =>
    shares.every((share, pod) => Math.abs(share - b.get(key)![pod]!) < SETTLED),
  );
}

type Group = readonly number[];

class Route {
  readonly inflow: Inflow;
  readonly #groups: readonly (Group | null)[];

  constructor(inflow: Inflow, { placeOf, nodeOf }: Placement) {
    this.inflow = inflow;
    const { source, target, scopes } = inflow;
    const callees = new Callees(
      target.pods.map((pod) => nodeOf(target.key, pod)),
      placeOf,
    );
    this.#groups = source.pods.map((pod) => {
      const node = nodeOf(source.key, pod);
      const place = node === null ? undefined : placeOf(node);
      return node === null || place === undefined ? null : callees.nearest(scopes ?? [], node, place);
    });
  }

  addTo(received: Float64Array, weights: ArrayLike<number>, rate: number): void {
    const sum = this.#groups.reduce((all, group, caller) => all + (group === null ? 0 : weights[caller]!), 0);
    if (sum === 0) return;
    const added = new Map<Group, number>();
    for (const [caller, group] of this.#groups.entries())
      if (group !== null) added.set(group, (added.get(group) ?? 0) + (rate * weights[caller]!) / sum);
    for (const [group, part] of added) for (const pod of group) received[pod]! += part / group.length;
  }
}

class Callees {
  readonly #all: number[] = [];
  readonly #by = new Map<string, number[]>();

  constructor(nodes: readonly (string | null)[], placeOf: PlaceOf) {
    for (const [pod, node] of nodes.entries()) {
      const place = node === null ? undefined : placeOf(node);
      if (node === null || place === undefined) continue;
      this.#all.push(pod);
      for (const scope of ["node", "zone", "region"] as const) {
        const key = scopeKey(scope, node, place);
        if (key === null) continue;
        const found = this.#by.get(key);
        if (found === undefined) this.#by.set(key, [pod]);
        else found.push(pod);
      }
    }
  }

  /** Pods in the narrowest non-empty scope around the caller. */
  nearest(scopes: readonly RoutingScope[], node: string, place: Place): Group {
    for (const scope of scopes) {
      const key = scopeKey(scope, node, place);
      const found = key === null ? undefined : this.#by.get(key);
      if (found !== undefined) return found;
    }
    return this.#all;
  }
}

function scopeKey(scope: RoutingScope, node: string, place: Place): string | null {
  const name = scope === "node" ? node : place[scope];
  return name === null ? null : `${scope} ${name}`;
}
