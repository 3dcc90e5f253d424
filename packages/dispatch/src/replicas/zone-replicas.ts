// Replicas of a Service per zone: `forecast` with what Kubernetes knows. A replica is one server of
// `capacityPerSecond`; a zone's replicas serve its requests and those of the nearest zones without replicas.
import { shareServed } from "../queueing.ts";

interface ReplicaView {
  readonly perSecond: ArrayLike<number>;
  readonly replicas: ArrayLike<number>;
  readonly isOpen: (zone: number) => boolean;
  readonly capacityPerSecond: number;
  readonly deadlineMs: number | null;
  /** Round trip; NaN if unknown. */
  readonly rttMs: (from: number, to: number) => number;
  /** Existing replicas, or zones with replicas, are never reduced below these. */
  readonly least: { readonly replicas: number; readonly zones: number };
}

interface ReplicaStep {
  readonly zone: number;
  readonly perSecond: number;
}

/** Arrays are by zone. */
export interface WantedReplicas {
  readonly wanted: readonly number[];
  /** Share of the zone's requests in time with the current replicas; null without requests. */
  readonly inTimeRatio: readonly (number | null)[];
  readonly adds: readonly ReplicaStep[];
  readonly removes: readonly ReplicaStep[];
}

/** Acceptable wait of a request, in multiples of work. */
const SLACK = 1.3;
const WORTH_ADDING = 0.1;
const WORTH_KEEPING = 0.04;
const MAX_STEPS = 100;

export function wantedReplicas(view: ReplicaView): WantedReplicas {
  const now = new Pools(view);
  const inTimeRatio = Array.from(view.perSecond, (rate, zone) => (rate > 0 ? now.inTimeRatio(zone) : null));
  const adds = steps(() => best(now.adds(), WORTH_ADDING * view.capacityPerSecond, view), now, 1);
  const removes = steps(() => least(now.removes(), WORTH_KEEPING * view.capacityPerSecond), now, -1);
  return { wanted: [...now.replicas], inTimeRatio, adds, removes };
}

function steps(next: () => ReplicaStep | null, pools: Pools, more: 1 | -1): ReplicaStep[] {
  const taken: ReplicaStep[] = [];
  for (let step = next(); step !== null && taken.length < MAX_STEPS; step = next()) {
    pools.change(step.zone, more);
    taken.push(step);
  }
  return taken;
}

function best(
  candidates: Iterable<ReplicaStep>,
  atLeast: number,
  { isOpen }: ReplicaView,
): ReplicaStep | null {
  let found: ReplicaStep | null = null;
  for (const each of candidates) {
    const isBetter = each.perSecond >= atLeast && !(found !== null && found.perSecond >= each.perSecond);
    if (isBetter && isOpen(each.zone)) found = each;
  }
  return found;
}

function least(candidates: Iterable<ReplicaStep>, below: number): ReplicaStep | null {
  let found: ReplicaStep | null = null;
  for (const each of candidates)
    if (each.perSecond < below && !(found !== null && found.perSecond <= each.perSecond)) found = each;
  return found;
}

class Pools {
  readonly replicas: number[];
  readonly #view: ReplicaView;
  /** Serving zone by zone; -1: none. */
  #servers: Int32Array;
  #loads: Float64Array;
  /** Cached effect of one more or one less replica; NaN: recompute. */
  readonly #known: Readonly<Record<1 | -1, Float64Array>>;

  constructor(view: ReplicaView) {
    this.#view = view;
    this.replicas = Array.from(view.replicas);
    [this.#servers, this.#loads] = this.#assigned();
    const unknown = (): Float64Array => new Float64Array(this.replicas.length).fill(Number.NaN);
    this.#known = { 1: unknown(), [-1]: unknown() };
  }

  change(zone: number, more: 1 | -1): void {
    const before = this.replicas[zone]!;
    this.#put(zone, before + more);
    const isElsewhere = before === 0 || before + more === 0;
    for (const [other, count] of this.replicas.entries()) {
      // A zone's first replica moves its requests from another zone's pool.
      if (other !== zone && count > 1 && !isElsewhere) continue;
      this.#known[1][other] = Number.NaN;
      this.#known[-1][other] = Number.NaN;
    }
  }

  inTimeRatio(zone: number): number {
    const server = this.#servers[zone]!;
    return server < 0 || this.#isTooFar(zone, server) ? 0 : this.#share(server, 0);
  }

  *adds(): Generator<ReplicaStep> {
    for (const zone of this.replicas.keys()) yield { zone, perSecond: this.#knownDifference(zone, 1) };
  }

  *removes(): Generator<ReplicaStep> {
    const { least: atLeast } = this.#view;
    const total = this.replicas.reduce((sum, count) => sum + count, 0);
    const zones = this.replicas.filter((count) => count > 0).length;
    if (total <= Math.max(1, atLeast.replicas)) return;
    for (const [zone, count] of this.replicas.entries())
      if (count > 1) yield { zone, perSecond: this.#knownDifference(zone, -1) };
      else if (count === 1 && zones > Math.max(1, atLeast.zones))
        // All of the zone's requests would leave it, in time or not.
        yield { zone, perSecond: Math.max(this.#view.perSecond[zone]!, this.#knownDifference(zone, -1)) };
  }

  #knownDifference(zone: number, more: 1 | -1): number {
    const known = this.#known[more];
    if (Number.isNaN(known[zone]!)) known[zone] = this.#difference(zone, more);
    return known[zone]!;
  }

  #put(zone: number, count: number): void {
    this.replicas[zone] = count;
    [this.#servers, this.#loads] = this.#assigned();
  }

  #difference(zone: number, more: 1 | -1): number {
    const count = this.replicas[zone]!;
    if (count > 0 && count + more > 0) {
      const near = this.#inTimeOf(zone);
      return near * Math.abs(this.#share(zone, more) - this.#share(zone, 0));
    }
    if (more > 0 && !(this.#view.perSecond[zone]! > 0)) return 0;
    const before = this.#total();
    const kept = [this.#servers, this.#loads] as const;
    this.#put(zone, count + more);
    const after = this.#total();
    this.replicas[zone] = count;
    [this.#servers, this.#loads] = kept;
    return more * (after - before);
  }

  #total(): number {
    let sum = 0;
    for (const [zone, load] of this.#loads.entries())
      if (load > 0) sum += this.#inTimeOf(zone) * this.#share(zone, 0);
    return sum;
  }

  #inTimeOf(server: number): number {
    const { perSecond, deadlineMs } = this.#view;
    if (deadlineMs === null) return this.#loads[server]!;
    let sum = 0;
    for (const [zone, by] of this.#servers.entries())
      if (by === server && !this.#isTooFar(zone, server)) sum += perSecond[zone]!;
    return sum;
  }

  #isTooFar(from: number, to: number): boolean {
    const { deadlineMs, rttMs } = this.#view;
    return deadlineMs !== null && from !== to && rttMs(from, to) >= deadlineMs;
  }

  #share(zone: number, more: number): number {
    const workSeconds = 1 / this.#view.capacityPerSecond;
    return shareServed(this.replicas[zone]! + more, this.#loads[zone]!, workSeconds, SLACK * workSeconds);
  }

  #assigned(): [Int32Array, Float64Array] {
    const { perSecond } = this.#view;
    const servers = new Int32Array(this.replicas.length).fill(-1);
    const loads = new Float64Array(this.replicas.length);
    for (const [zone, count] of this.replicas.entries()) {
      const server = count > 0 ? zone : this.#nearest(zone);
      servers[zone] = server;
      if (server >= 0) loads[server]! += perSecond[zone]!;
    }
    return [servers, loads];
  }

  /** Nearest zone with a replica; unknown round trips count as farthest. */
  #nearest(zone: number): number {
    if (!(this.#view.perSecond[zone]! > 0)) return -1;
    let found = -1;
    let least = Number.POSITIVE_INFINITY;
    for (const [other, count] of this.replicas.entries()) {
      if (count === 0) continue;
      const rtt = this.#view.rttMs(zone, other);
      if (found < 0 || rtt < least) found = other;
      if (rtt < least) least = rtt;
    }
    return found;
  }
}
