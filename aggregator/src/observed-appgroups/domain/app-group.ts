import type { Channel, WorkflowGraphSnapshot, Workload } from "@isochrone/topology";
import type { BitsPerSecond } from "@isochrone/primitives";
import { compareText } from "../../domain/compare.ts";
import type { DemandHistory } from "./demand.ts";
import { stickyNeed, type NeedRule } from "./sticky-need.ts";

export interface GroupWorkload {
  readonly name: string;
  readonly kind: string;
  readonly namespace: string;
  readonly selector: string;
  readonly dependencies: readonly GroupDependency[];
}

export interface GroupDependency {
  readonly name: string;
  /** Bits per second per pair of their pods; null: unknown or none. */
  readonly minBitsPerSecond: BitsPerSecond | null;
  readonly maxNetworkCost: number | null;
}

export interface AppGroupInputs {
  readonly graph: WorkflowGraphSnapshot;
  /** Returns true for the workflow's own workloads, and false for the far ends of channels. */
  readonly isMember: (workload: string) => boolean;
  readonly selectorOf: (workload: Workload) => string;
  readonly history: DemandHistory;
  readonly nowMs: number;
  readonly rule: NeedRule;
  readonly holdMs: number;
  readonly defaultMaxNetworkCost: number;
  readonly written: readonly GroupWorkload[];
}

function channelKey(graph: WorkflowGraphSnapshot, source: string, target: string): string {
  return `${graph.namespace}/${graph.name}\n${source}\n${target}`;
}

/** minBandwidth applies per pair of pods: the rate divided by their number, within the pods' limits. */
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

function largest(limits: readonly (number | undefined)[]): number {
  return limits.reduce<number>(
    (most, limit) => Math.max(most, limit ?? Number.POSITIVE_INFINITY),
    limits.length === 0 ? Number.POSITIVE_INFINITY : 0,
  );
}

/** Workloads of the AppGroup, sorted by name. Depends only on graph and history. */
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
  // A short history cannot distinguish an ended channel from an idle one.
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

/** Canonical text for comparison, independent of the order. */
export function workloadsText(workloads: readonly GroupWorkload[]): string {
  const byName = [...workloads].sort((a, b) => compareText(a.name, b.name));
  return JSON.stringify(
    byName.map(({ name, kind, namespace, selector, dependencies }) => [
      [name, kind, namespace, selector],
      [...dependencies]
        .sort((a, b) => compareText(a.name, b.name))
        // Upstream's schema defaults an absent cost to 0.
        .map((one) => [one.name, one.minBitsPerSecond, one.maxNetworkCost ?? 0]),
    ]),
  );
}
