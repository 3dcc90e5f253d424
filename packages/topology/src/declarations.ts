// The rule of who may declare which channels. Shared by the aggregator, `isochrone score` and the
// scheduler-plugin.
import type { BitsPerSecond } from "@isochrone/primitives";

export interface DeclaredWorkload {
  readonly namespace: string;
  readonly name: string;
}

export interface ChannelDemands {
  readonly priority: number | null;
  readonly maxNetworkCost: number | null;
  readonly minBandwidthBitsPerSecond: BitsPerSecond | null;
  /** Relationship type, for example HTTPRoute. Absent: not declared. */
  readonly relationshipType?: string;
}

export interface ChannelDeclaration extends ChannelDemands {
  readonly declaredIn: string;
  readonly source: DeclaredWorkload;
  readonly target: DeclaredWorkload;
}

/** A channel that may be drawn. Its own demands bind only pods of the source's namespace. */
export interface DeclaredChannel extends ChannelDemands {
  readonly source: DeclaredWorkload;
  readonly target: DeclaredWorkload;
  /** Demands on pods of the target's namespace, if another. Absent: none. */
  readonly agreed?: ChannelDemands;
}

export const DECLARATION_REFUSALS = [
  "unreadable",
  "bad_name",
  "other_namespace",
  "too_large",
  "object_limit",
  "namespace_limit",
  "cluster_limit",
  "far_pods",
  "unmatched",
] as const;
export type DeclarationRefusal = (typeof DECLARATION_REFUSALS)[number];

/** Cap on declared priorities; placement also caps them by its profile. */
const MAX_DECLARED_PRIORITY = 1_000_000;
/** Cap on declared costs, ms: 1,000 s exceed any distance. */
const MAX_DECLARED_NETWORK_COST = 1_000_000;
/** From this `maxNetworkCost` on there is no limit. A missing one is 0 in upstream's plugin. */
export const NO_NETWORK_LIMIT = 10_000;
/** Bit/s cap, equal to that of the CNI's bandwidth plugin. */
export const MAX_DECLARED_BANDWIDTH = 1e15;
const MAX_TYPE_LENGTH = 128;

const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const NAME = /^[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?$/;
const HIDDEN_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

export const DECLARATION_RIGHT =
  /(?:\*|[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)->(?:\*|[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)/;
const ANY = "*";

/** Namespaces that objects may declare for: their own, and those granted by an operator. */
export class DeclarationRights {
  readonly #granted: ReadonlySet<string>;

  private constructor(granted: ReadonlySet<string>) {
    this.#granted = granted;
  }

  /**
   * Parses entries such as `platform->shop`: objects in platform may declare for shop. `*`: any namespace.
   */
  static of(entries: readonly string[]): DeclarationRights {
    return new DeclarationRights(new Set(entries));
  }

  mayDeclareFor(declarer: string, namespace: string): boolean {
    if (declarer === namespace) return true;
    if (this.#granted.size === 0) return false;
    return [declarer, ANY].some((from) => [namespace, ANY].some((to) => this.#granted.has(`${from}->${to}`)));
  }
}

export const OWN_NAMESPACE_ONLY: DeclarationRights = DeclarationRights.of([]);

/** Rejects impossible names, declared by mistake or to fill memory. */
export function isWorkloadName({ namespace, name }: DeclaredWorkload): boolean {
  return NAMESPACE.test(namespace) && NAME.test(name);
}

/** Caps amounts. Invalid ones count as not declared. */
export function boundedDemands(demands: {
  readonly priority: unknown;
  readonly maxNetworkCost: unknown;
  readonly minBandwidthBitsPerSecond: unknown;
  readonly relationshipType?: unknown;
}): ChannelDemands {
  const { relationshipType: type } = demands;
  return {
    priority: amount(demands.priority, MAX_DECLARED_PRIORITY),
    maxNetworkCost: amount(demands.maxNetworkCost, MAX_DECLARED_NETWORK_COST),
    minBandwidthBitsPerSecond: amount(demands.minBandwidthBitsPerSecond, MAX_DECLARED_BANDWIDTH),
    ...(isTypeName(type) ? { relationshipType: type } : {}),
  };
}

function amount(value: unknown, most: number): number | null {
  return typeof value === "number" && value >= 0 && value < Infinity ? Math.min(value, most) : null;
}

function isTypeName(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value !== "" &&
    value.length <= MAX_TYPE_LENGTH &&
    !HIDDEN_CHARACTERS.test(value)
  );
}

interface ResolvedDeclarations {
  readonly channels: readonly DeclaredChannel[];
  /** Declarations about another namespace's workloads; ignored. */
  readonly refused: readonly ChannelDeclaration[];
}

/**
 * A declaration for the source's namespace creates a channel and binds that namespace's pods; one for the
 * target's binds the target's. Omitted demands follow the source's. The last wins, but a namespace's own
 * objects precede granted ones.
 */
export function resolveDeclarations(
  declarations: Iterable<ChannelDeclaration>,
  rights: DeclarationRights,
): ResolvedDeclarations {
  const pairs = new Map<string, Pair>();
  const refused: ChannelDeclaration[] = [];
  for (const declaration of declarations) {
    const { declaredIn, source, target } = declaration;
    const forSource = rights.mayDeclareFor(declaredIn, source.namespace);
    const forTarget =
      source.namespace !== target.namespace && rights.mayDeclareFor(declaredIn, target.namespace);
    if (!forSource && !forTarget) {
      refused.push(declaration);
      continue;
    }
    const key = `${source.namespace}/${source.name}\n${target.namespace}/${target.name}`;
    let pair = pairs.get(key);
    if (pair === undefined) pairs.set(key, (pair = { source: null, target: null }));
    if (forSource) pair.source = nearer(pair.source, declaration, source.namespace);
    if (forTarget) pair.target = nearer(pair.target, declaration, target.namespace);
  }
  const channels: DeclaredChannel[] = [];
  for (const { source, target } of pairs.values()) {
    if (source !== null) channels.push(channelOf(source, target));
    // The source's namespace declared no such channel to agree to.
    else refused.push(target!);
  }
  return { channels, refused };
}

interface Pair {
  source: ChannelDeclaration | null;
  target: ChannelDeclaration | null;
}

function nearer(
  known: ChannelDeclaration | null,
  next: ChannelDeclaration,
  namespace: string,
): ChannelDeclaration {
  return known !== null && known.declaredIn === namespace && next.declaredIn !== namespace ? known : next;
}

function channelOf(made: ChannelDeclaration, agreed: ChannelDeclaration | null): DeclaredChannel {
  const { source, target } = made;
  const demands = demandsOf(made);
  if (agreed === null) return { source, target, ...demands };
  const said = demandsOf(agreed);
  const relationshipType = said.relationshipType ?? demands.relationshipType;
  return {
    source,
    target,
    ...demands,
    agreed: {
      priority: said.priority ?? demands.priority,
      maxNetworkCost: said.maxNetworkCost ?? demands.maxNetworkCost,
      minBandwidthBitsPerSecond: said.minBandwidthBitsPerSecond ?? demands.minBandwidthBitsPerSecond,
      ...(relationshipType === undefined ? {} : { relationshipType }),
    },
  };
}

function demandsOf(from: ChannelDemands): ChannelDemands {
  const { priority, maxNetworkCost, minBandwidthBitsPerSecond, relationshipType } = from;
  return {
    priority,
    maxNetworkCost,
    minBandwidthBitsPerSecond,
    ...(relationshipType === undefined ? {} : { relationshipType }),
  };
}

/** Max-min fair share of `total`: small demands are met in full, the rest share equally. */
export function fairLimit(wanted: readonly number[], total: number): number {
  let left = total;
  const ascending = wanted.toSorted((a, b) => a - b);
  for (const [index, want] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index));
    if (want > share) return share;
    left -= want;
  }
  return Infinity;
}
