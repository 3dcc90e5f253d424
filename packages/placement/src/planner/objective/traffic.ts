import { routingScopes, type Channel } from "@isochrone/topology";
import { bytesPerSecondOf } from "../../scoring/channel-traffic.ts";
import type { RequestValue } from "../../scoring/channel-traffic.ts";
import { LARGEST_PRIORITY } from "../../communication-affinity/channel-types.ts";
import type { CostField } from "./cost-field.ts";
import { NearestChannel, type NearestCost } from "./nearest-channel.ts";
import type { PlanProblem } from "./plan-problem.ts";
import type { PlanSettings } from "./plan-settings.ts";
import { ReplicaBook } from "./replicas.ts";
import { starvingZones, type StarvingZones } from "./starving-zones.ts";

export interface TrafficGroup {
  readonly workload: string;
  readonly pods: readonly number[];
  readonly links: GroupLink[];
  readonly fixed: FixedPeer[];
}

export interface GroupLink {
  /** Peer group; may be the group itself, with equal `calling` and `called`. */
  readonly group: number;
  /** Bytes per second between one pod and one replica, started here or there. */
  readonly calling: number;
  readonly called: number;
  /** Relative error of both rates. */
  readonly rateError: number;
}

interface FixedPeer {
  readonly location: number;
  readonly calling: number;
  readonly called: number;
  readonly rateError: number;
}

export interface Traffic {
  readonly groups: readonly TrafficGroup[];
  readonly groupOf: Int32Array;
  readonly nearest: readonly NearestChannel[];
  readonly starving: readonly StarvingZones[];
  readonly nearestOf: readonly (readonly NearestCost[])[];
  readonly bytesPerSecond: number;
  /** `declared`: no rate is known, priorities replace rates. */
  readonly source: "measured" | "declared" | "none";
}

/** Cap on rates, so that sums don't overflow. */
const LARGEST_RATE = 1e100;

/**
 * Each pair of replicas gets rate / (Ra x Rb) unless traffic goes to the nearest. If no rate is known,
 * declared priorities count as bytes per second.
 */
export function trafficOf(
  problem: PlanProblem,
  field: CostField,
  { bytesPerRequest, maxCpuUse }: Pick<PlanSettings, "bytesPerRequest" | "maxCpuUse">,
): Traffic {
  const groupOf = new Int32Array(problem.pods.length).fill(-1);
  const groups: TrafficGroup[] = [];
  const indexOf = new Map<string, number>();
  const replicas = new ReplicaBook(problem, field);
  for (const [workload, pods] of replicas.planned) {
    indexOf.set(workload, groups.length);
    for (const pod of pods) groupOf[pod] = groups.length;
    groups.push({ workload, pods, links: [], fixed: [] });
  }
  const { channels, source } = ratedChannels(problem, indexOf, bytesPerRequest);
  const nearest: NearestChannel[] = [];
  for (const { channel, rate } of channels) {
    const callers = replicas.of(channel.source);
    const targets = replicas.of(channel.target);
    const scopes = routingScopes(channel);
    const rateError = rateErrorOf(channel, problem.cluster.windowSeconds);
    if (scopes !== null) {
      const each = rate / callers.count;
      nearest.push(new NearestChannel({ field, scopes, callers, targets, each, rateError }));
      continue;
    }
    const pair = rate / (callers.count * targets.count);
    const [calling, called] = [
      { calling: pair, called: 0, rateError },
      { calling: 0, called: pair, rateError },
    ];
    linkGroups(groups, indexOf.get(channel.source), indexOf.get(channel.target), calling);
    for (const location of targets.fixed) addFixed(groups, indexOf.get(channel.source), location, calling);
    for (const location of callers.fixed) addFixed(groups, indexOf.get(channel.target), location, called);
  }
  const rates = { of: rateOf(bytesPerRequest), areKnown: source === "measured" };
  const starving = starvingZones(problem, { field, replicas, rates, maxCpuUse });
  const together: readonly NearestCost[] = [...nearest, ...starving];
  return {
    groups: groups.map((group) => ({
      ...group,
      links: mergeLinks(group.links),
      fixed: mergeFixed(group.fixed),
    })),
    groupOf,
    nearest,
    starving,
    nearestOf: problem.pods.map((_, pod) => together.filter((cost) => cost.concerns(pod))),
    bytesPerSecond: channels.reduce((sum, { rate }) => sum + rate, 0),
    source,
  };
}

interface RatedChannel {
  readonly channel: Channel;
  readonly rate: number;
}

function ratedChannels(
  { workflow }: PlanProblem,
  planned: ReadonlyMap<string, number>,
  bytesPerRequest: number,
): { channels: RatedChannel[]; source: Traffic["source"] } {
  const measured = rateOf(bytesPerRequest);
  const concerned = workflow.channels.filter(
    ({ source, target }) => planned.has(source) || planned.has(target),
  );
  if (concerned.length === 0) return { channels: [], source: "none" };
  const known = concerned.some((channel) => measured(channel) !== null);
  const rated = (channel: Channel): number =>
    known ? (measured(channel) ?? 0) : Math.min(LARGEST_PRIORITY, Math.max(1, channel.priority ?? 1));
  const channels = concerned
    .map((channel) => ({ channel, rate: Math.min(LARGEST_RATE, rated(channel)) }))
    .filter(({ rate }) => rate > 0);
  return { channels, source: known ? "measured" : "declared" };
}

/** Returns the function of a channel's rate, bytes per second. Null: unknown. */
function rateOf(bytesPerRequest: number): (channel: Channel) => number | null {
  const value: RequestValue =
    bytesPerRequest > 0
      ? { bytesPerRequest }
      : { bytesPerRequest: null, reason: "bytesPerRequest is 0, which leaves them unknown" };
  return (channel) => bytesPerSecondOf(channel, value);
}

/** Equals some thousand requests, for channels without request counts. */
const UNCOUNTED_RATE_ERROR = 0.05;

/** Two standard errors of a counted rate, relative; at most 1. */
function rateErrorOf({ requestsPerSecond }: Channel, windowSeconds: number): number {
  if (requestsPerSecond === null) return UNCOUNTED_RATE_ERROR;
  return Math.min(1, 2 / Math.sqrt(requestsPerSecond * windowSeconds));
}

type Rates = Pick<GroupLink, "calling" | "called" | "rateError">;

function linkGroups(
  groups: readonly TrafficGroup[],
  source: number | undefined,
  target: number | undefined,
  rates: Rates,
): void {
  if (source === undefined || target === undefined) return;
  const { calling, rateError } = rates;
  if (source === target) {
    groups[source]!.links.push({ group: source, calling, called: calling, rateError });
    return;
  }
  groups[source]!.links.push({ group: target, ...rates });
  groups[target]!.links.push({ group: source, calling: 0, called: calling, rateError });
}

function addFixed(
  groups: readonly TrafficGroup[],
  group: number | undefined,
  location: number,
  rates: Rates,
): void {
  if (group !== undefined) groups[group]!.fixed.push({ location, ...rates });
}

function mergeLinks(links: readonly GroupLink[]): GroupLink[] {
  return merged(links, ({ group }) => group);
}

function mergeFixed(fixed: readonly FixedPeer[]): FixedPeer[] {
  return merged(fixed, ({ location }) => location);
}

/** Merges by key, sorted, so that sums don't depend on the order of channels. */
function merged<T extends Rates>(items: readonly T[], keyOf: (item: T) => number): T[] {
  const byKey = new Map<number, T>();
  for (const item of items) {
    const before = byKey.get(keyOf(item));
    byKey.set(
      keyOf(item),
      before === undefined
        ? item
        : {
            ...item,
            calling: before.calling + item.calling,
            called: before.called + item.called,
            rateError: Math.max(before.rateError, item.rateError),
          },
    );
  }
  return [...byKey.entries()].sort(([a], [b]) => a - b).map(([, item]) => item);
}
