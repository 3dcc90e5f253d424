import type { Channel, WorkflowGraphSnapshot, Workload } from "@isochrone/topology";
import type { BitsPerSecond } from "@isochrone/primitives";
import { compareText } from "../../domain/compare.ts";
import type { DemandHistory } from "./demand.ts";
import { stickyNeed, type NeedRule } from "./sticky-need.ts";

/** A workload of an AppGroup. */
export interface GroupWorkload {
  readonly name: string;
  readonly kind: string;
  readonly namespace: string;
  /** Value of the label by which its pods name it. */
  readonly selector: string;
  /** Sorted by name. */
  readonly dependencies: readonly GroupDependency[];
}

/** What a workload needs of another one of the group. */
export interface GroupDependency {
  readonly name: string;
  /** For each pair of their pods, bits per second; null: not known, or none. */
  readonly minBitsPerSecond: BitsPerSecond | null;
  /** Null: the object has none. */
  readonly maxNetworkCost: number | null;
}

/** What an AppGroup is drawn from. */
export interface AppGroupInputs {
  readonly graph: WorkflowGraphSnapshot;
  /**
   * Whether the workload of the graph's namespace belongs to the workflow; the far ends of its channels
   * don't.
   */
  readonly isMember: (workload: string) => boolean;
  readonly selectorOf: (workload: Workload) => string;
  readonly history: DemandHistory;
  readonly nowMs: number;
  readonly rule: NeedRule;
  /** How long a dependency that is no longer seen stays. */
  readonly holdMs: number;
  /** For dependencies that declare none. */
  readonly defaultMaxNetworkCost: number;
  /** As the AppGroup has them. */
  readonly written: readonly GroupWorkload[];
}

/** Key of a channel in the history. */
function channelKey(graph: WorkflowGraphSnapshot, source: string, target: string): string {
  return `${graph.namespace}/${graph.name}\n${source}\n${target}`;
}

/**
 * Notes what the workflow's channels carry now. The need of one pair of pods is the channel's rate over the
 * number of pairs, since minBandwidth counts for each; it can't exceed what the pods' own limits let through.
 */
export function recordDemand({ graph, isMember, history, nowMs }: Omit<AppGroupInputs, "written">): void {
  const workloads = new Map(membersOf(graph, isMember).map((workload) => [workload.name, workload]));
  for (const channel of graph.channels) {
    const source = workloads.get(channel.source);
    const target = workloads.get(channel.target);
    if (channel.origin !== "observed" || source === undefined || target === undefined || source === target)
      continue;
    const bits =
      channel.bytesPerSecond === null ? null : pairNeed(channel.bytesPerSecond * 8, source, target);
    history.record(channelKey(graph, channel.source, channel.target), bits, nowMs);
  }
}

function pairNeed(bitsPerSecond: BitsPerSecond, source: Workload, target: Workload): number {
  const pairs = Math.max(1, source.pods.length) * Math.max(1, target.pods.length);
  const egress = largest(source.pods.map(({ egressLimitBitsPerSecond }) => egressLimitBitsPerSecond));
  const ingress = largest(target.pods.map(({ ingressLimitBitsPerSecond }) => ingressLimitBitsPerSecond));
  return Math.min(bitsPerSecond / pairs, egress, ingress);
}

/** Infinite when any pod has no limit. */
function largest(limits: readonly (number | undefined)[]): number {
  return limits.reduce<number>(
    (most, limit) => Math.max(most, limit ?? Number.POSITIVE_INFINITY),
    limits.length === 0 ? Number.POSITIVE_INFINITY : 0,
  );
}

/** The workloads of an AppGroup for the workflow, sorted by name: the same for the same graph and history. */
export function observedWorkloads(inputs: AppGroupInputs): GroupWorkload[] {
  const { graph, isMember, selectorOf, written } = inputs;
  const members = membersOf(graph, isMember);
  const names = new Set(members.map(({ name }) => name));
  const before = new Map(
    written.map(({ name, dependencies }) => [name, new Map(dependencies.map((one) => [one.name, one]))]),
  );
  const channels = Map.groupBy(
    graph.channels.filter(({ source, target }) => source !== target && names.has(target)),
    ({ source }) => source,
  );
  return members.map((workload) => {
    const { name, kind, namespace } = workload;
    const listed = before.get(name) ?? new Map<string, GroupDependency>();
    const live = new Map((channels.get(name) ?? []).map((channel) => [channel.target, channel]));
    const targets = [...new Set([...live.keys(), ...listed.keys()])].filter((target) => names.has(target));
    const dependencies = targets
      .sort(compareText)
      .flatMap((target) => dependency(inputs, name, target, live.get(target), listed.get(target)));
    return { name, kind, namespace, selector: selectorOf(workload), dependencies };
  });
}

function membersOf(
  graph: WorkflowGraphSnapshot,
  isMember: (workload: string) => boolean,
): readonly Workload[] {
  return graph.workloads
    .filter(({ namespace, name }) => namespace === graph.namespace && isMember(name))
    .sort((a, b) => compareText(a.name, b.name));
}

function dependency(
  inputs: AppGroupInputs,
  source: string,
  target: string,
  channel: Channel | undefined,
  written: GroupDependency | undefined,
): GroupDependency[] {
  const { graph, history, nowMs, rule, holdMs, defaultMaxNetworkCost } = inputs;
  const demand = history.demand(channelKey(graph, source, target), nowMs);
  const isSeen = demand !== null && demand.silentMs <= holdMs;
  // A young history can't tell a channel that ended from one that rests.
  const isHeld = written !== undefined && rule.isYoung;
  if (!isSeen && !isHeld && !isDeclaredChannel(channel)) return [];
  const before = written?.minBitsPerSecond ?? null;
  const minBitsPerSecond =
    channel?.minBandwidthBitsPerSecond ?? stickyNeed(before, demand?.bitsPerSecond ?? null, rule);
  const maxNetworkCost = channel?.maxNetworkCost ?? defaultMaxNetworkCost;
  return [{ name: target, minBitsPerSecond, maxNetworkCost }];
}

function isDeclaredChannel(channel: Channel | undefined): boolean {
  if (channel === undefined) return false;
  const { origin, maxNetworkCost, minBandwidthBitsPerSecond } = channel;
  return origin === "declared" || maxNetworkCost !== null || minBandwidthBitsPerSecond !== null;
}

/** One text of all that counts, in whatever order the workloads stand. */
export function workloadsText(workloads: readonly GroupWorkload[]): string {
  const byName = [...workloads].sort((a, b) => compareText(a.name, b.name));
  return JSON.stringify(
    byName.map(({ name, kind, namespace, selector, dependencies }) => [
      [name, kind, namespace, selector],
      [...dependencies]
        .sort((a, b) => compareText(a.name, b.name))
        // Upstream's schema makes 0 of a cost that is left out.
        .map((one) => [one.name, one.minBitsPerSecond, one.maxNetworkCost ?? 0]),
    ]),
  );
}
