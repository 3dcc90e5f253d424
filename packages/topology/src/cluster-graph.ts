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

const UNKNOWN_COST: number = Number.NaN;
const UNREACHABLE_COST: number = Infinity;

/** After this many consecutive misses, guessing the order costs more than it saves. */
const MAX_MISSES = 32;

/** Cached columns per direction: 40 kB each at 5,000 nodes. */
const MAX_COLUMNS = 256;

const SELF: Cost = { known: true, ms: 0, origin: "measured", method: null, ageSeconds: 0, errorMs: 0 };

export class ClusterGraph {
  readonly version: number;
  readonly observedAt: string;
  readonly windowSeconds: number;
  /** A node's id is its position. */
  readonly nodes: readonly ClusterNode[];
  readonly maxAgeSeconds: number;
  readonly snapshotAgeSeconds: number;
  /** Factor on measured errors: doubles for a snapshot that is one window old. */
  readonly #errorGrowth: number;
  /** Omitted links: of unknown nodes, or from a node to itself. */
  readonly ignoredLinks: number;
  readonly #ids: NameIndex;
  readonly #table: LinkTable;
  readonly #estimate: NonNullable<CostOptions["estimate"]>;
  /** Age of the coordinates at the time of the snapshot. */
  readonly #coordinateAgeSeconds: number;
  readonly #declared: DeclaredAreaCosts | null;
  readonly #names: readonly string[];
  /** The id that followed each id last time; one more entry for the first id. */
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

  static fromJson(json: unknown, options: CostOptions = {}): ClusterGraph {
    return new ClusterGraph(parseClusterGraph(json), options);
  }

  idOf(name: string): number {
    return this.#ids.idOf(name);
  }

  /**
   * Callers repeat similar orders, so this first tries the previous follower of each id and avoids hashing.
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

  /** Amounts by id; NaN: unknown or stale. Shared: don't modify. */
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

  node(name: string): ClusterNode | undefined {
    return this.nodes[this.idOf(name)];
  }

  /** Round trip from `a` to `b`. Precedence: link, declared area, coordinates, zones, regions. */
  cost(a: string, b: string): Cost {
    const from = this.idOf(a);
    const to = this.idOf(b);
    if (from < 0 || to < 0) return { known: false, reason: "unknown_node" };
    return this.costById(from, to);
  }

  costById(from: number, to: number): Cost {
    if (from === to) return SELF;
    const at = this.#table.find(from, to);
    const state = at < 0 ? PAIR_STATE.unmeasured : (this.#table.state[at] as PairState);
    if (at >= 0 && hasFigure(state)) return this.#linkCost(at);
    if (state === PAIR_STATE.unreachable) return { known: false, reason: "unreachable" };
    return this.#fallback(from, to) ?? { known: false, reason: reasonOf(state) };
  }

  /** Cost in ms, UNKNOWN_COST (NaN) or UNREACHABLE_COST (Infinity). Doesn't allocate for measured pairs. */
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
   * Milliseconds, about two standard errors. Infinite: unknown, or provisional link. 0: same node, declared,
   * or unreachable.
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

  /** Costs from every node, by id. Shared: don't modify. Cached for fast scoring. */
  costsTo(to: number): Float64Array {
    return this.#column(this.#columnsTo, to, (from) => this.costMsById(from, to));
  }

  costsFrom(from: number): Float64Array {
    return this.#column(this.#columnsFrom, from, (to) => this.costMsById(from, to));
  }

  /** Bandwidth in bits per second. Null: no link. */
  bandwidthById(from: number, to: number): Link["bandwidthBitsPerSecond"] | null {
    const at = this.#table.find(from, to);
    return at < 0 ? null : this.#table.link(at).bandwidthBitsPerSecond;
  }

  get declaredAreas(): DeclaredAreaCosts | null {
    return this.#declared;
  }

  /** Both directions, ms: measured, else by coordinates. Null: unknown. */
  zoneCostMsById(a: number, b: number): number | null {
    this.#zones ??= new AreaSummaries(this.nodes, this.#table, zoneOf);
    const measured = this.#zones.between(a, b);
    if (measured !== undefined) return measured.ms;
    this.#zoneEstimates ??= this.#areaEstimates(zoneOf);
    return this.#zoneEstimates.between(a, b);
  }

  regionCostMsById(a: number, b: number): number | null {
    this.#regions ??= new AreaSummaries(this.nodes, this.#table, regionOf);
    const measured = this.#regions.between(a, b);
    if (measured !== undefined) return measured.ms;
    this.#regionEstimates ??= this.#areaEstimates(regionOf);
    return this.#regionEstimates.between(a, b);
  }

  prepare(): void {
    this.available("cpuMillicores");
    this.available("memoryBytes");
    this.#known();
    this.#zones ??= new AreaSummaries(this.nodes, this.#table, zoneOf);
    this.#regions ??= new AreaSummaries(this.nodes, this.#table, regionOf);
  }

  /**
   * Median over links, else declared areas, else coordinates: scoring's cost of an unknown pair. Null:
   * unknown.
   */
  medianKnownCost(): number | null {
    return this.#known().median;
  }

  /** Highest of these costs: scoring's cost of an unreachable pair. Null: unknown. */
  worstKnownCost(): number | null {
    return this.#known().worst;
  }

  /** Stale coordinates, or ones of unknown age, estimate nothing. */
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

/** Names fields explicitly, because a spread would dominate the time of a column. */
function estimated({ ms, ageSeconds, errorMs }: AreaSummary): Cost & { known: true } {
  return { known: true, ms, origin: "estimated", method: null, ageSeconds, errorMs };
}

function reasonOf(state: PairState): UnknownReason {
  return state === PAIR_STATE.stale ? "stale" : "unmeasured";
}

/** Declared cost: between zones within a region, else between regions, as in NetworkTopology. */
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
