// Assigns a channel's bytes to pod pairs, also under a hypothetical placement and routing.
import type { PodPlacement, RoutingScope } from "@isochrone/topology";
import { keyOf, type Billed } from "./billed.ts";
import type { WeightOf } from "./caller-weights.ts";
import { NO_CHANGE, nodeOf, scopesOf, type Change } from "./change.ts";
import { inflowShares, type Inflow } from "./inflow.ts";
import type { PlaceOf } from "./place.ts";
import type { WeighedPod } from "./zone-pairs.ts";

export interface Exchange {
  readonly billed: Billed;
  readonly scopes: readonly RoutingScope[] | null;
  readonly callers: readonly WeighedPod[];
  readonly callees: readonly Pick<WeighedPod, "node">[];
}

interface Circumstances {
  readonly change: Change;
  readonly placeOf: PlaceOf;
  readonly weights: ReadonlyMap<string, WeightOf>;
}

/** Moved callers keep their measured weight. Forwarded traffic scales with received traffic. */
export function* exchangesOf(
  channels: readonly Billed[],
  circumstances: Circumstances,
): Generator<Exchange, void, void> {
  const { change } = circumstances;
  const ratios = ratiosOf(channels, circumstances);
  for (const billed of channels) {
    const { source, target, channel } = billed;
    const ratio = ratios.get(keyOf(source));
    const counted = countedOf(billed, circumstances);
    yield {
      billed,
      scopes: scopesOf(change, target, channel),
      callers: source.pods.map((pod, caller) => ({
        node: nodeOf(change, source, pod),
        weight: weightAfter(counted[caller]!, ratio?.[caller]),
      })),
      callees: target.pods.map((pod) => ({ node: nodeOf(change, target, pod) })),
    };
  }
}

function countedOf({ source, target }: Billed, { weights, placeOf }: Circumstances): number[] {
  const weightOf = weights.get(keyOf(target)) ?? ((): number => 1);
  return source.pods.map(({ node }) => {
    const place = node === null ? undefined : placeOf(node);
    return place === undefined ? 0 : weightOf(place);
  });
}

/** A replica that currently receives nothing uses its future share. */
function weightAfter(counted: number, ratio: Ratio | undefined): number {
  if (ratio === undefined) return counted;
  return ratio.before > 0 ? (counted * ratio.after) / ratio.before : ratio.after * ratio.pods;
}

interface Ratio {
  readonly before: number;
  readonly after: number;
  readonly pods: number;
}

function ratiosOf(
  channels: readonly Billed[],
  circumstances: Circumstances,
): ReadonlyMap<string, readonly Ratio[]> {
  const { change, placeOf } = circumstances;
  if (change.moves.size === 0 && change.routing.size === 0) return new Map();
  const counted = channels.map((billed) => countedOf(billed, circumstances));
  const inflows = (after: boolean): Inflow[] =>
    channels.map(({ source, target, channel }, index) => ({
      source: { key: keyOf(source), pods: source.pods },
      target: { key: keyOf(target), pods: target.pods },
      rate: channel.requestsPerSecond ?? channel.bytesPerSecond ?? 0,
      scopes: scopesOf(after ? change : NO_CHANGE, target, channel),
      weights: counted[index]!,
    }));
  const namespaces = new Map(
    channels.flatMap(({ source, target }) => [source, target].map((end) => [keyOf(end), end] as const)),
  );
  const before = inflowShares(inflows(false), { placeOf, nodeOf: (_, { node }) => node });
  const after = inflowShares(inflows(true), {
    placeOf,
    nodeOf: (key: string, pod: PodPlacement) => nodeOf(change, namespaces.get(key)!, pod),
  });
  return new Map(
    [...before].map(([key, shares]) => [
      key,
      Array.from(shares, (share, pod): Ratio => {
        return { before: share, after: after.get(key)?.[pod] ?? share, pods: shares.length };
      }),
    ]),
  );
}
