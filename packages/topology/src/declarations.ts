// Who may declare what of whose channels. The one rule of all readers: the aggregator, `isochrone score` and
// the scheduler-plugin.
import type { BitsPerSecond } from "@isochrone/primitives";

/** A workload's name in its namespace. */
export interface DeclaredWorkload {
  readonly namespace: string;
  readonly name: string;
}

/** What a channel is declared to need. */
export interface ChannelDemands {
  readonly priority: number | null;
  readonly maxNetworkCost: number | null;
  readonly minBandwidthBitsPerSecond: BitsPerSecond | null;
  /** Type of the relationship, such as HTTPRoute; absent: none was declared. */
  readonly relationshipType?: string;
}

/** A channel as one object declares it. */
export interface ChannelDeclaration extends ChannelDemands {
  /** Namespace of the object that says so. */
  readonly declaredIn: string;
  readonly source: DeclaredWorkload;
  readonly target: DeclaredWorkload;
}

/** A channel that may be drawn. Its own demands bind the pods of the source's namespace alone. */
export interface DeclaredChannel extends ChannelDemands {
  readonly source: DeclaredWorkload;
  readonly target: DeclaredWorkload;
  /**
   * What binds the pods of the target's namespace, where that is another one; absent: it declared nothing.
   */
  readonly agreed?: ChannelDemands;
}

/** Why a declaration counts for nothing. */
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

/** Priorities beyond this are taken for it; placement bounds them by its own profile. */
const MAX_DECLARED_PRIORITY = 1_000_000;
/** Network costs beyond this (ms) are taken for it: a thousand seconds, farther than anything. */
const MAX_DECLARED_NETWORK_COST = 1_000_000;
/** A `maxNetworkCost` from here on is no limit; a missing one is 0 to upstream's plugin. */
export const NO_NETWORK_LIMIT = 10_000;
/** Bit/s; more is taken for it. The CNI's bandwidth plugin takes no more either. */
export const MAX_DECLARED_BANDWIDTH = 1e15;
const MAX_TYPE_LENGTH = 128;

/** RFC 1123, as the API server checks names of namespaces and of workloads. */
const NAMESPACE = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const NAME = /^[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?$/;
const HIDDEN_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Form of an entry of {@link DeclarationRights.of}. */
export const DECLARATION_RIGHT =
  /(?:\*|[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)->(?:\*|[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)/;
const ANY = "*";

/** For which namespaces objects may declare: for their own one, and for those that an operator names. */
export class DeclarationRights {
  readonly #granted: ReadonlySet<string>;

  private constructor(granted: ReadonlySet<string>) {
    this.#granted = granted;
  }

  /**
   * From entries such as `platform->shop`: objects in platform declare for shop as if they were shop's. `*`
   * is any namespace.
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

/** Nobody declares for another namespace. */
export const OWN_NAMESPACE_ONLY: DeclarationRights = DeclarationRights.of([]);

/** Whether objects of that name can be: what can't is declared by mistake or to fill memory. */
export function isWorkloadName({ namespace, name }: DeclaredWorkload): boolean {
  return NAMESPACE.test(namespace) && NAME.test(name);
}

/**
 * Finite amounts of 0 or more, none larger than anything needs; what is none of them counts as not declared.
 */
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

/** What declarations come to. */
interface ResolvedDeclarations {
  readonly channels: readonly DeclaredChannel[];
  /** Those that touch what isn't their namespace's: they count for nothing. */
  readonly refused: readonly ChannelDeclaration[];
}

/**
 * Who declares for the source's namespace makes a channel, and says what it demands of that namespace's pods.
 * Who declares for the target's only agrees to it, and so binds the target's pods: what it leaves open is as
 * the source has it. Of several with one right the last counts; objects of the namespace itself go before
 * those that an operator lets speak for it.
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
    // Its own namespace didn't declare it: there is no such channel to agree to.
    else refused.push(target!);
  }
  return { channels, refused };
}

/** By the namespaces at both ends, who says what. */
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

/**
 * How much of `total` each may have at most, so that those who want little get it all, and the rest share
 * alike.
 */
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
