import { median } from "@isochrone/primitives";
import { AreaSummaries, regionOf, zoneOf } from "./area-summary.ts";
import type { AreaSummary } from "./area-summary.ts";
import { coordinateEstimator, DEFAULT_METHOD_ORDER, STALE_AFTER_WINDOWS } from "./cost.ts";
import type { Cost, CostEstimator, CostOptions, DeclaredAreaCosts, UnknownReason } from "./cost.ts";
import { declaredAreaCosts } from "./declared-costs.ts";
import { AreaEstimates, sampleEstimates } from "./estimate-sample.ts";
import { hasFigure, LinkTable, PAIR_STATE, pairRecords } from "./link-table.ts";
import type { PairState } from "./link-table.ts";
import { NameIndex } from "./name-index.ts";
import type { ClusterGraphSnapshot, ClusterNode, CoordinateFit, Link } from "./schema.ts";
import { medianErrorMs } from "./statistics.ts";
import { parseClusterGraph } from "./validation.ts";

/** What `costMsById` answers instead of a number of milliseconds. */
const UNKNOWN_COST: number = Number.NaN;
const UNREACHABLE_COST: number = Infinity;

/**
 * After this many wrong guesses one after the other the order is another one, and guessing costs more than it
 * saves.
 */
const MAX_MISSES = 32;

/** Columns kept per direction: 40 kB each at 5,000 nodes. */
const MAX_COLUMNS = 256;

const SELF: Cost = { known: true, ms: 0, origin: "measured", method: null, ageSeconds: 0, errorMs: 0 };

/** The nodes and what lies between them: an immutable view of one snapshot, for looking costs up. */
export class ClusterGraph {
  readonly version: number;
  /** When the snapshot was built, RFC 3339. */
  readonly observedAt: string;
  readonly windowSeconds: number;
  /** A node's id is its position here. */
  readonly nodes: readonly ClusterNode[];
  /** Figures older than this count as stale. */
  readonly maxAgeSeconds: number;
  /** How old the snapshot was when this view was made. */
  readonly snapshotAgeSeconds: number;
  /** Factor of measured errors: a snapshot that is a window old is wrong by twice as much. */
  readonly #errorGrowth: number;
  /** Links that name nodes which the snapshot doesn't hold, or lead from a node to itself: left out. */
  readonly ignoredLinks: number;
  readonly #ids: NameIndex;
  readonly #table: LinkTable;
  readonly #estimate: NonNullable<CostOptions["estimate"]>;
  /** When the snapshot was taken. */
  readonly #coordinateAgeSeconds: number;
  readonly #declared: DeclaredAreaCosts | null;
  readonly #names: readonly string[];
  /** By id (one more for the first name): which id came next the last time. */
  readonly #follower: Int32Array;
  readonly #available = new Map<string, Float64Array>();
  readonly #columnsTo = new Map<number, Float64Array>();
  readonly #columnsFrom = new Map<number, Float64Array>();
  #zones: AreaSummaries | undefined;
  #regions: AreaSummaries | undefined;
  #zoneEstimates: AreaEstimates | undefined;
  #regionEstimates: AreaEstimates | undefined;
  #knownCosts: { median: number | null; worst: number | null } | undefined;

  constructor(snapshot: ClusterGraphSnapshot, options: CostOptions = {}) {
    this.version = snapshot.version;
    this.observedAt = snapshot.observedAt;
    this.windowSeconds = snapshot.windowSeconds;
    this.nodes = snapshot.nodes;
    this.maxAgeSeconds = options.maxAgeSeconds ?? STALE_AFTER_WINDOWS * snapshot.windowSeconds;
    this.snapshotAgeSeconds = options.snapshotAgeSeconds ?? 0;
    this.#errorGrowth = 1 + this.snapshotAgeSeconds / snapshot.windowSeconds;
    this.#names = snapshot.nodes.map(({ name }) => name);
    this.#follower = Int32Array.from({ length: snapshot.nodes.length + 1 }, (_, id) => id + 1);
    this.#follower[snapshot.nodes.length] = 0;
    this.#ids = new NameIndex(this.#names);
    const { pairs, ignored } = pairRecords(snapshot.links, (name) => this.idOf(name), {
      methodOrder: options.methodOrder ?? snapshot.costMethods ?? DEFAULT_METHOD_ORDER,
      ipFamilyOrder: options.ipFamilyOrder ?? [4, 6],
      maxAgeSeconds: this.maxAgeSeconds,
      snapshotAgeSeconds: this.snapshotAgeSeconds,
    });
    this.ignoredLinks = ignored;
    this.#table = new LinkTable(snapshot.nodes.length, pairs);
    this.#coordinateAgeSeconds = snapshot.coordinates?.ageSeconds ?? 0;
    this.#estimate = options.estimate ?? this.#publishedEstimator(snapshot.coordinates ?? null);
    const { declaredCosts = null } = snapshot;
    this.#declared = options.declared ?? (declaredCosts === null ? null : declaredAreaCosts(declaredCosts));
  }

  /** From JSON of unknown quality. Throws SnapshotError, which names path, rule and value. */
  static fromJson(json: unknown, options: CostOptions = {}): ClusterGraph {
    return new ClusterGraph(parseClusterGraph(json), options);
  }

  /** The node's id, or -1. */
  idOf(name: string): number {
    return this.#ids.idOf(name);
  }

  /**
   * Ids of many names, -1 for unknown ones. Callers name nodes in much the same order again and again: the id
   * that followed this one last time is tried first, which spares hashing each name.
   */
  idsOf(names: readonly string[]): Int32Array {
    const ids = new Int32Array(names.length);
    const follower = this.#follower;
    let before = this.nodes.length;
    let misses = 0;
    for (let row = 0; row < names.length; row++) {
      const name = names[row]!;
      let id = misses < MAX_MISSES ? follower[before]! : -1;
      if (id >= 0 && this.#names[id] === name) misses = 0;
      else {
        misses++;
        id = this.idOf(name);
        if (id >= 0) follower[before] = id;
      }
      ids[row] = id;
      if (id >= 0) before = id;
    }
    return ids;
  }

  /**
   * What nodes have available, by id; NaN where it isn't known or too old. Shared between callers: read only.
   */
  available(resource: "cpuMillicores" | "memoryBytes"): Float64Array {
    let column = this.#available.get(resource);
    if (column === undefined) {
      column = Float64Array.from(this.nodes, (node) => {
        const amount = resource === "cpuMillicores" ? node.availableCpuMillicores : node.availableMemoryBytes;
        const fresh = (node.usageAgeSeconds ?? 0) + this.snapshotAgeSeconds <= this.maxAgeSeconds;
        return fresh && amount !== null && Number.isFinite(amount) ? amount : Number.NaN;
      });
      this.#available.set(resource, column);
    }
    return column;
  }

  /** The node of that name, or undefined. */
  node(name: string): ClusterNode | undefined {
    return this.nodes[this.idOf(name)];
  }

  /**
   * What a round trip from `a` to `b` costs. The order of belief is: link, declared area, coordinates, zones,
   * regions.
   */
  cost(a: string, b: string): Cost {
    const from = this.idOf(a);
    const to = this.idOf(b);
    if (from < 0 || to < 0) return { known: false, reason: "unknown_node" };
    return this.costById(from, to);
  }

  /** As `cost`, by node ids of this graph. */
  costById(from: number, to: number): Cost {
    if (from === to) return SELF;
    const at = this.#table.find(from, to);
    const state = at < 0 ? PAIR_STATE.unmeasured : (this.#table.state[at] as PairState);
    if (at >= 0 && hasFigure(state)) return this.#linkCost(at);
    if (state === PAIR_STATE.unreachable) return { known: false, reason: "unreachable" };
    return this.#fallback(from, to) ?? { known: false, reason: reasonOf(state) };
  }

  /**
   * The hot path's `cost`: milliseconds, UNKNOWN_COST (a NaN) or UNREACHABLE_COST (infinite). Allocates
   * nothing for measured pairs.
   */
  costMsById(from: number, to: number): number {
    if (from === to) return 0;
    const at = this.#table.find(from, to);
    if (at >= 0) {
      const ms = this.#table.costMs[at]!;
      if (!Number.isNaN(ms)) return ms;
      if (this.#table.state[at] === PAIR_STATE.unreachable) return UNREACHABLE_COST;
    }
    return this.#fallback(from, to)?.ms ?? UNKNOWN_COST;
  }

  /**
   * How far `costMsById` may be from the truth, milliseconds, by node ids: about two standard errors.
   * Infinite where nobody knows: the cost is unknown, its link is provisional, or its source tells no error.
   * 0 for a node to itself, for declared costs, and for pairs that are known to be unreachable.
   */
  errorMsById(from: number, to: number): number {
    if (from === to) return 0;
    const at = this.#table.find(from, to);
    if (at >= 0 && this.#table.link(at).provisional) return Infinity;
    if (at >= 0 && this.#table.state[at] === PAIR_STATE.unreachable) return 0;
    const hasOwn = at >= 0 && !Number.isNaN(this.#table.costMs[at]!);
    const cost = hasOwn ? this.#linkCost(at) : this.#fallback(from, to);
    if (cost === null) return Infinity;
    return cost.errorMs ?? (cost.origin === "declared" ? 0 : Infinity);
  }

  /**
   * `costMsById` from every node to `to`, by node id. Shared between callers: read only. Kept for the next
   * pod that talks to the same node, so that scoring thousands of candidates costs an addition per pair.
   */
  costsTo(to: number): Float64Array {
    return this.#column(this.#columnsTo, to, (from) => this.costMsById(from, to));
  }

  /** `costMsById` from `from` to every node, by node id. Shared between callers: read only. */
  costsFrom(from: number): Float64Array {
    return this.#column(this.#columnsFrom, from, (to) => this.costMsById(from, to));
  }

  /**
   * What is known of the bandwidth from one node to another, bits per second, by node ids; null where nothing
   * links them.
   */
  bandwidthById(from: number, to: number): Link["bandwidthBitsPerSecond"] | null {
    const at = this.#table.find(from, to);
    return at < 0 ? null : this.#table.link(at).bandwidthBitsPerSecond;
  }

  /** What somebody declared between zones and regions; null without any. */
  get declaredAreas(): DeclaredAreaCosts | null {
    return this.#declared;
  }

  /**
   * Median of the measured costs between the zones of two nodes, both directions together, ms; where nobody
   * measured any, the median of what coordinates estimate between them; null where nothing is known.
   */
  zoneCostMsById(a: number, b: number): number | null {
    this.#zones ??= new AreaSummaries(this.nodes, this.#table, zoneOf);
    const measured = this.#zones.between(a, b);
    if (measured !== undefined) return measured.ms;
    this.#zoneEstimates ??= this.#areaEstimates(zoneOf);
    return this.#zoneEstimates.between(a, b);
  }

  /** The same between their regions. */
  regionCostMsById(a: number, b: number): number | null {
    this.#regions ??= new AreaSummaries(this.nodes, this.#table, regionOf);
    const measured = this.#regions.between(a, b);
    if (measured !== undefined) return measured.ms;
    this.#regionEstimates ??= this.#areaEstimates(regionOf);
    return this.#regionEstimates.between(a, b);
  }

  /** Makes the summaries that look-ups would otherwise make when they first need them. */
  prepare(): void {
    this.available("cpuMillicores");
    this.available("memoryBytes");
    this.#known();
    this.#zones ??= new AreaSummaries(this.nodes, this.#table, zoneOf);
    this.#regions ??= new AreaSummaries(this.nodes, this.#table, regionOf);
  }

  /**
   * Median over the pairs with a link of their own; without any, over what is declared between areas; without
   * that, over what coordinates estimate. Null when nothing is known. What scoring pays for an unknown cost.
   */
  medianKnownCost(): number | null {
    return this.#known().median;
  }

  /** The highest of the same costs; null when nothing is known. What scoring pays for an unreachable pair. */
  worstKnownCost(): number | null {
    return this.#known().worst;
  }

  /** Coordinates that are too old, or of unknown age, estimate nothing. */
  #publishedEstimator(fit: CoordinateFit | null): CostEstimator {
    const fresh = fit !== null && fit.ageSeconds + this.snapshotAgeSeconds <= this.maxAgeSeconds;
    return fresh ? coordinateEstimator(fit) : () => null;
  }

  #column(kept: Map<number, Float64Array>, id: number, costMs: (other: number) => number): Float64Array {
    let column = kept.get(id);
    if (column === undefined) {
      column = new Float64Array(this.nodes.length);
      for (let other = 0; other < column.length; other++) column[other] = costMs(other);
      if (kept.size >= MAX_COLUMNS) kept.delete(kept.keys().next().value!);
      kept.set(id, column);
    }
    return column;
  }

  #known(): { median: number | null; worst: number | null } {
    if (this.#knownCosts === undefined) {
      let known = [...this.#table.costMs].filter((ms) => !Number.isNaN(ms));
      if (known.length === 0) known = this.#declaredCosts();
      if (known.length === 0)
        known = sampleEstimates(this.nodes.length, (from, to) => this.#estimateMs(from, to));
      const worst = known.reduce<number | null>((most, ms) => (most === null || ms > most ? ms : most), null);
      this.#knownCosts = { median: median(known), worst };
    }
    return this.#knownCosts;
  }

  #declaredCosts(): number[] {
    if (this.#declared === null) return [];
    const rows = [...this.#declared.zones.values(), ...this.#declared.regions.values()];
    return rows.flatMap((row) => [...row.values()]);
  }

  #areaEstimates(areaOf: (node: ClusterNode) => string | null): AreaEstimates {
    const areas = this.nodes.map(areaOf);
    return new AreaEstimates(
      areas.length,
      (id) => areas[id]!,
      (from, to) => this.#estimateMs(from, to),
    );
  }

  /** By coordinates alone. */
  #estimateMs(from: number, to: number): number | null {
    const a = this.nodes[from]!;
    const b = this.nodes[to]!;
    return a.coordinate === null || b.coordinate === null ? null : (this.#estimate(a, b)?.ms ?? null);
  }

  #linkCost(at: number): Cost & { known: true } {
    const { origin, method, ageSeconds, errorMs, rttMs } = this.#table.link(at);
    const isMeasured = origin === "measured";
    const known = errorMs ?? (isMeasured ? medianErrorMs(rttMs) : null);
    return {
      known: true,
      ms: this.#table.costMs[at]!,
      origin,
      method: isMeasured ? method : null,
      ageSeconds,
      errorMs: known === null || !isMeasured ? known : known * this.#errorGrowth,
    };
  }

  #fallback(from: number, to: number): (Cost & { known: true }) | null {
    const a = this.nodes[from]!;
    const b = this.nodes[to]!;
    const declared = this.#declared === null ? null : declaredMs(this.#declared, a, b);
    if (declared !== null) {
      return { known: true, ms: declared, origin: "declared", method: null, ageSeconds: null, errorMs: null };
    }
    const estimate = a.coordinate !== null && b.coordinate !== null ? this.#estimate(a, b) : null;
    if (estimate !== null) {
      const { ms, errorMs } = estimate;
      return estimated({ ms, errorMs, ageSeconds: this.#coordinateAgeSeconds });
    }
    this.#zones ??= new AreaSummaries(this.nodes, this.#table, zoneOf);
    const zones = this.#zones.between(from, to);
    if (zones !== undefined) return estimated(zones);
    this.#regions ??= new AreaSummaries(this.nodes, this.#table, regionOf);
    const regions = this.#regions.between(from, to);
    return regions === undefined ? null : estimated(regions);
  }
}

/** Field by field: a spread would take most of the time that a column takes. */
function estimated({ ms, ageSeconds, errorMs }: AreaSummary): Cost & { known: true } {
  return { known: true, ms, origin: "estimated", method: null, ageSeconds, errorMs };
}

function reasonOf(state: PairState): UnknownReason {
  return state === PAIR_STATE.stale ? "stale" : "unmeasured";
}

/** Zones are compared within a region, regions otherwise, as the NetworkTopology resource means them. */
function declaredMs(declared: DeclaredAreaCosts, a: ClusterNode, b: ClusterNode): number | null {
  const cost = declaredCost(declared, a, b);
  return cost === null ? null : cost * (declared.unitMs ?? 1);
}

function declaredCost(
  { zones, regions, sameZone }: DeclaredAreaCosts,
  a: ClusterNode,
  b: ClusterNode,
): number | null {
  if (a.region !== b.region) return lookUp(regions, a.region, b.region);
  if (a.zone !== null && a.zone === b.zone) return sameZone;
  return lookUp(zones, a.zone, b.zone);
}

function lookUp(
  costs: ReadonlyMap<string, ReadonlyMap<string, number>>,
  from: string | null,
  to: string | null,
): number | null {
  return from === null || to === null ? null : (costs.get(from)?.get(to) ?? null);
}
