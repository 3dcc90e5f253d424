import { ByteBudgets } from "./byte-budgets.ts";
import { hash53 } from "../hash.ts";
import { RecentTests } from "./recent-tests.ts";

export interface LeaseRule {
  /** Expiry of a lease that is not released. */
  readonly leaseMs: number;
  readonly testBytes: number;
  readonly bytesPerHour: number;
  readonly pairIntervalMs: number;
  /** Number of pairs whose last test is remembered. The oldest entry is evicted first. */
  readonly maxPairs: number;
}

export interface LeaseNode {
  readonly name: string;
  /** Region and zone in one text. Nodes without a zone ("") count as one zone. */
  readonly zone: string;
}

interface Lease {
  readonly id: string;
  readonly target: string;
  readonly expiresInMs: number;
  readonly maxBytes: number;
}

const LEASE_DENIALS = [
  /** The aggregator has just started; leases of a previous process may still be held. */
  "starting",
  "not_leader",
  "node_busy",
  "node_budget",
  "no_target",
  "target_busy",
  "target_budget",
  "zone_pair_busy",
  "pair_recent",
] as const;
type LeaseDenial = (typeof LEASE_DENIALS)[number];

/** `retryAfterMs`: earlier requests would be refused too. */
export type LeaseAnswer =
  | { readonly lease: Lease; readonly retryAfterMs: number }
  | { readonly lease: null; readonly denial: LeaseDenial; readonly retryAfterMs: number };

interface ActiveLease {
  readonly nodes: readonly [source: string, target: string];
  readonly zonePair: string;
  readonly untilMs: number;
}

interface Obstacle {
  readonly denial: LeaseDenial;
  readonly untilMs: number;
}

const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 3_600_000;
/** Share of the wait that varies by node, so that waiting nodes do not retry at once. */
const RETRY_SPREAD = 0.25;

/**
 * Grants leases for bandwidth tests. At most one test runs per node and per pair of zones, so that tests do
 * not disturb each other. Each node has an hourly byte budget. Times are monotonic, ms.
 */
export class BandwidthLeases {
  readonly #rule: LeaseRule;
  readonly #newId: () => string;
  readonly #startedMs: number;
  readonly #active = new Map<string, ActiveLease>();
  readonly #busy = new Map<string, number>();
  readonly #budgets: ByteBudgets;
  readonly #zonePairs: RecentTests;
  readonly #pairs: RecentTests;
  #answers = 0;
  #expired = 0;

  /** @param newId returns unique ids that cannot be guessed */
  constructor(rule: LeaseRule, newId: () => string, startedMs: number) {
    this.#rule = rule;
    this.#newId = newId;
    this.#startedMs = startedMs;
    this.#budgets = new ByteBudgets(rule.bytesPerHour);
    this.#zonePairs = new RecentTests(rule.maxPairs);
    this.#pairs = new RecentTests(rule.maxPairs);
  }

  get expired(): number {
    return this.#expired;
  }

  active(nowMs: number): number {
    this.#expire(nowMs);
    return this.#active.size;
  }

  /** @param targets peers of `source` that accept bursts, without `source` */
  acquire(source: LeaseNode, targets: readonly LeaseNode[], nowMs: number): LeaseAnswer {
    this.#expire(nowMs);
    this.#answers += 1;
    const own = this.#obstacleOfSource(source, targets, nowMs);
    if (own !== null) return this.#deny(source, own, nowMs);
    const free: LeaseNode[] = [];
    let nearest: Obstacle | null = null;
    for (const target of targets) {
      const obstacle = this.#obstacleOfPair(source, target, nowMs);
      if (obstacle === null) free.push(target);
      else if (nearest === null || obstacle.untilMs < nearest.untilMs) nearest = obstacle;
    }
    const [best] = free.sort((a, b) => this.#compare(source, a, b));
    return best === undefined ? this.#deny(source, nearest!, nowMs) : this.#grant(source, best, nowMs);
  }

  /**
   * Call in order of time.
   * @param atMs may be negative: before this clock began
   */
  remember(source: LeaseNode, target: LeaseNode, atMs: number): void {
    this.#zonePairs.mark(zonePairOf(source, target), atMs);
    this.#pairs.mark(pairOf(source, target), atMs);
    for (const { name } of [source, target]) this.#budgets.charge(name, this.#rule.testBytes, atMs);
  }

  release(id: string, nowMs: number): boolean {
    this.#expire(nowMs);
    return this.#end(id);
  }

  #obstacleOfSource(source: LeaseNode, targets: readonly LeaseNode[], nowMs: number): Obstacle | null {
    const { leaseMs, testBytes } = this.#rule;
    if (nowMs < this.#startedMs + leaseMs) return { denial: "starting", untilMs: this.#startedMs + leaseMs };
    if (targets.length === 0) return { denial: "no_target", untilMs: nowMs + this.#rule.pairIntervalMs };
    return worst([
      this.#busyObstacle("node_busy", source.name, nowMs),
      obstacleUntil("node_budget", this.#budgets.freeAt(source.name, testBytes, nowMs), nowMs),
    ]);
  }

  #obstacleOfPair(source: LeaseNode, target: LeaseNode, nowMs: number): Obstacle | null {
    const { testBytes, pairIntervalMs } = this.#rule;
    const last = this.#pairs.last(pairOf(source, target));
    return worst([
      this.#busyObstacle("target_busy", target.name, nowMs),
      obstacleUntil("target_budget", this.#budgets.freeAt(target.name, testBytes, nowMs), nowMs),
      this.#busyObstacle("zone_pair_busy", zonePairOf(source, target), nowMs),
      obstacleUntil("pair_recent", last + pairIntervalMs, nowMs),
    ]);
  }

  #busyObstacle(denial: LeaseDenial, key: string, nowMs: number): Obstacle | null {
    return obstacleUntil(denial, this.#busy.get(key) ?? Number.NEGATIVE_INFINITY, nowMs);
  }

  /** Prefers zones with the oldest test (one pair per zone suffices), then the oldest pair, then a hash. */
  #compare(source: LeaseNode, a: LeaseNode, b: LeaseNode): number {
    return (
      order(this.#zonePairs.last(zonePairOf(source, a)), this.#zonePairs.last(zonePairOf(source, b))) ||
      order(this.#pairs.last(pairOf(source, a)), this.#pairs.last(pairOf(source, b))) ||
      order(hash53(pairOf(source, a)), hash53(pairOf(source, b)))
    );
  }

  #grant(source: LeaseNode, target: LeaseNode, nowMs: number): LeaseAnswer {
    const { leaseMs, testBytes } = this.#rule;
    const id = this.#newId();
    const zonePair = zonePairOf(source, target);
    const lease: ActiveLease = { nodes: [source.name, target.name], zonePair, untilMs: nowMs + leaseMs };
    this.#active.set(id, lease);
    for (const key of [...lease.nodes, zonePair]) this.#busy.set(key, lease.untilMs);
    for (const name of lease.nodes) this.#budgets.charge(name, testBytes, nowMs);
    this.#zonePairs.mark(zonePair, nowMs);
    this.#pairs.mark(pairOf(source, target), nowMs);
    return {
      lease: { id, target: target.name, expiresInMs: leaseMs, maxBytes: testBytes },
      retryAfterMs: leaseMs,
    };
  }

  #deny(source: LeaseNode, { denial, untilMs }: Obstacle, nowMs: number): LeaseAnswer {
    const waitMs = Math.min(MAX_RETRY_MS, Math.max(MIN_RETRY_MS, untilMs - nowMs));
    const spread = (hash53(`${source.name}\n${this.#answers}`) / 2 ** 53) * RETRY_SPREAD;
    return { lease: null, denial, retryAfterMs: Math.ceil(waitMs * (1 + spread)) };
  }

  /** All leases last equally long, so they expire in insertion order. */
  #expire(nowMs: number): void {
    for (const [id, { untilMs }] of this.#active) {
      if (untilMs > nowMs) return;
      this.#end(id);
      this.#expired += 1;
    }
  }

  #end(id: string): boolean {
    const lease = this.#active.get(id);
    if (lease === undefined) return false;
    this.#active.delete(id);
    for (const key of [...lease.nodes, lease.zonePair]) this.#busy.delete(key);
    return true;
  }
}

/** Unique key: nodes have no line feed in their names, pairs of zones have at least one. */
function zonePairOf(a: LeaseNode, b: LeaseNode): string {
  return a.zone < b.zone ? `\n${a.zone}\n\n${b.zone}` : `\n${b.zone}\n\n${a.zone}`;
}

function pairOf(source: LeaseNode, target: LeaseNode): string {
  return `${source.name}\n${target.name}`;
}

function obstacleUntil(denial: LeaseDenial, untilMs: number, nowMs: number): Obstacle | null {
  return untilMs > nowMs ? { denial, untilMs } : null;
}

function worst(obstacles: readonly (Obstacle | null)[]): Obstacle | null {
  return obstacles.reduce(
    (most, obstacle) =>
      obstacle !== null && (most === null || obstacle.untilMs > most.untilMs) ? obstacle : most,
    null,
  );
}

/** Compares numbers; a subtraction would fail for infinities. */
function order(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
