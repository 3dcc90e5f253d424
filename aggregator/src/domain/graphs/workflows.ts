import { allSteps } from "@isochrone/primitives/algorithms";
import type { Channel, PodPlacement, WorkflowGraphSnapshot, Workload } from "@isochrone/topology";
import type { ChannelMemory, WorkloadPods } from "./channel-memory.ts";
import { isOutside } from "../channel-key.ts";
import { compareText } from "../compare.ts";
import type { GraphStamp } from "./cluster-graph.ts";
import { ageSeconds, rfc3339 } from "./graph-time.ts";
import {
  fullName,
  workloadNameOf,
  type ClusterState,
  type NamespacedName,
  type PodState,
} from "../cluster-state.ts";
import type { Figures } from "./figures.ts";
import { OutsideFlows } from "./outside-flows.ts";
import { channelFlows, observedChannels, type ChannelSource, type EndRates } from "./observed-channels.ts";
import { podEntryOnNode } from "../speakers/authority.ts";
import type { ChannelRates, FlowRates } from "../traffic/channels.ts";
import type { UsageState, UsageTable } from "../usage/usage.ts";
import type { WindowName } from "../windows/window-shape.ts";
import { FarPods, viewsOf, type Edge, type Member, type View } from "./workflow-views.ts";

interface Draft {
  readonly id: NamespacedName;
  readonly members: Map<string, Member>;
  readonly edges: View[];
  readonly outward: Member[];
}

interface MeasuredTables {
  readonly channels: ChannelSource;
  readonly rememberedChannels: Pick<ChannelMemory, "note" | "recall">;
  readonly pods: Pick<UsageTable, "get">;
  readonly figures: Figures;
}

const ITEMS_PER_STEP = 500;

/** Builds all workflows, sorted by namespace and name. A channel between two workflows belongs to both. */
export function buildWorkflows(
  tables: MeasuredTables,
  cluster: ClusterState,
  stamp: GraphStamp,
  window: WindowName,
): WorkflowGraphSnapshot[] {
  return allSteps(workflowSteps(tables, cluster, stamp, window));
}

/** @param onTooFar called for channels beyond the limit on far pods */
export function* workflowSteps(
  tables: MeasuredTables,
  cluster: ClusterState,
  stamp: GraphStamp,
  window: WindowName,
  onTooFar: () => void = () => undefined,
): Generator<void, WorkflowGraphSnapshot[]> {
  const members = membersOf(cluster);
  const routing = routingBy(cluster, members);
  const drafts = new Map<string, Draft>();
  for (const member of members.values()) if (member.workflow !== null) join(drafts, member.workflow, member);
  yield;
  const room = new FarPods();
  const outside = new OutsideFlows();
  let untilStep = ITEMS_PER_STEP;
  for (const edge of yield* edgeSteps(tables, cluster, members, stamp.nowMs, window, outside)) {
    for (const view of viewsOf(edge)) {
      const { workflow } = view;
      if (!room.admits(view, drafts.get(fullName(workflow))?.members)) {
        onTooFar();
        continue;
      }
      join(drafts, workflow, edge.source);
      join(drafts, workflow, edge.target).edges.push(view);
    }
    if (--untilStep > 0) continue;
    untilStep = ITEMS_PER_STEP;
    yield;
  }
  for (const workload of outside.workloads()) {
    const member = memberOf(members, workload);
    const { namespace } = workload;
    join(drafts, member.workflow ?? { namespace, name: namespace }, member).outward.push(member);
  }
  const sorted = [...drafts.values()].sort(
    (a, b) => compareText(a.id.namespace, b.id.namespace) || compareText(a.id.name, b.id.name),
  );
  const graphs: WorkflowGraphSnapshot[] = [];
  untilStep = 0;
  for (const draft of sorted) {
    if (untilStep <= 0) {
      untilStep = ITEMS_PER_STEP;
      yield;
    }
    graphs.push(finish(draft, tables, stamp, window, routing, outside));
    untilStep -= draft.edges.length + draft.members.size;
  }
  return graphs;
}

function membersOf(cluster: ClusterState): Map<string, Member> {
  const members = new Map<string, Member>();
  for (const { namespace, name, kind, workflow } of cluster.workloads) {
    members.set(fullName({ namespace, name }), { namespace, name, kind, workflow, pods: [] });
  }
  for (const pod of cluster.pods) {
    const { namespace, workflow } = pod;
    const kind = pod.workload?.kind ?? "Pod";
    const name = workloadNameOf(pod, cluster.members);
    const key = fullName({ namespace, name });
    let member = members.get(key);
    if (member === undefined) members.set(key, (member = { namespace, name, kind, workflow, pods: [] }));
    member.pods.push(pod);
    // Traffic of a bare pod uses its own name.
    if (pod.workload === null && name !== pod.name && !members.has(fullName(pod)))
      members.set(fullName(pod), member);
  }
  return members;
}

/** Routing of callers by target workload, only for targets with a preference. */
type Routing = ReadonlyMap<Member, Pick<Channel, "routing" | "routingScopes">>;

function routingBy({ routing = new Map() }: ClusterState, members: ReadonlyMap<string, Member>): Routing {
  const byMember = new Map<Member, Pick<Channel, "routing" | "routingScopes">>();
  for (const [name, scopes] of routing) {
    const member = members.get(name);
    if (member !== undefined) byMember.set(member, { routing: "nearest", routingScopes: [...scopes] });
  }
  return byMember;
}

function* edgeSteps(
  tables: MeasuredTables,
  cluster: ClusterState,
  members: Map<string, Member>,
  nowMs: number,
  window: WindowName,
  outside: OutsideFlows,
): Generator<void, Iterable<Edge>> {
  const edges = new Map<string, Edge>();
  const edge = (from: NamespacedName, to: NamespacedName): Edge => {
    const source = memberOf(members, from);
    const target = memberOf(members, to);
    const key = `${fullName(source)}\n${fullName(target)}`;
    let found = edges.get(key);
    if (found === undefined)
      edges.set(key, (found = { source, target, rates: null, declared: null, flow: null }));
    return found;
  };
  let untilStep = ITEMS_PER_STEP;
  // A channel may be added between two steps.
  for (const { rates } of observedChannels(tables.channels, nowMs, window)) {
    if (--untilStep <= 0) {
      untilStep = ITEMS_PER_STEP;
      yield;
    }
    if (isOutside(rates.key)) {
      outside.take(rates);
      continue;
    }
    const found = edge(...endsOf(rates));
    found.rates = rates;
    if (window === "full") tables.rememberedChannels.note(rates, isWhole(found), nowMs);
  }
  if (window === "full")
    for (const rates of tables.rememberedChannels.recall(podsIn(members), nowMs))
      edge(...endsOf(rates)).rates ??= rates;
  for (const { key, flow } of channelFlows(tables.channels, nowMs, window)) {
    edge(...endsOf({ key })).flow = flow;
    if (--untilStep > 0) continue;
    untilStep = ITEMS_PER_STEP;
    yield;
  }
  for (const declared of cluster.declared) {
    edge(declared.source, declared.target).declared = declared;
    if (--untilStep > 0) continue;
    untilStep = ITEMS_PER_STEP;
    yield;
  }
  return edges.values();
}

function endsOf({ key }: Pick<EndRates, "key">): [NamespacedName, NamespacedName] {
  return [
    { namespace: key.sourceNamespace, name: key.source },
    { namespace: key.targetNamespace, name: key.target },
  ];
}

function isWhole({ source, target }: Edge): boolean {
  return [source, target].every(({ pods }) => pods.some(({ node }) => node !== null));
}

function podsIn(members: ReadonlyMap<string, Member>): WorkloadPods {
  return (workload) => {
    const member = members.get(fullName(workload));
    return member === undefined || member.workflow === null ? null : member.pods;
  };
}

function memberOf(members: Map<string, Member>, id: NamespacedName): Member {
  const key = fullName(id);
  let member = members.get(key);
  if (member === undefined) {
    members.set(key, (member = { ...id, kind: "Unknown", workflow: null, pods: [] }));
  }
  return member;
}

function join(drafts: Map<string, Draft>, workflow: NamespacedName, member: Member): Draft {
  const key = fullName(workflow);
  let draft = drafts.get(key);
  if (draft === undefined)
    drafts.set(key, (draft = { id: workflow, members: new Map(), edges: [], outward: [] }));
  draft.members.set(fullName(member), member);
  return draft;
}

function finish(
  draft: Draft,
  tables: MeasuredTables,
  stamp: GraphStamp,
  window: WindowName,
  routing: Routing,
  outside: OutsideFlows,
): WorkflowGraphSnapshot {
  const members = [...draft.members.values()].sort(
    (a, b) => compareText(a.name, b.name) || compareText(a.namespace, b.namespace),
  );
  const label = labelsOf(draft, members);
  const outward = draft.outward.flatMap((member) =>
    outside.of(member, label(member), stamp.nowMs, tables.figures),
  );
  return {
    version: stamp.version,
    observedAt: rfc3339(stamp.nowMs),
    namespace: draft.id.namespace,
    name: draft.id.name,
    workloads: members.map((member) => buildWorkload(member, label(member), tables, stamp.nowMs, window)),
    channels: draft.edges
      .map((view) => ({
        ...buildChannel(view, label(view.edge.source), label(view.edge.target), stamp.nowMs, tables.figures),
        ...routing.get(view.edge.target),
      }))
      .sort((a, b) => compareText(a.source, b.source) || compareText(a.target, b.target)),
    ...(outward.length === 0 ? {} : { outside: outward.sort((a, b) => compareText(a.workload, b.workload)) }),
  };
}

/** Labels a workload of another namespace `namespace/name` if a member has its name. */
function labelsOf(draft: Draft, members: readonly Member[]): (member: Member) => string {
  const times = new Map<string, number>();
  for (const { name } of members) times.set(name, (times.get(name) ?? 0) + 1);
  return (member) =>
    times.get(member.name)! > 1 && member.namespace !== draft.id.namespace ? fullName(member) : member.name;
}

function buildWorkload(
  member: Member,
  name: string,
  tables: MeasuredTables,
  nowMs: number,
  window: WindowName,
): Workload {
  const { figures } = tables;
  const usages = member.pods.map((pod) => usagesOf(pod, tables));
  const cores = mean(usages.map((each) => firstOf(each, (usage) => figures.of(usage.cpu(nowMs, window)))));
  return {
    name,
    kind: member.kind,
    namespace: member.namespace,
    cpuMillicores: cores === null ? null : figures.of(cores * 1000),
    memoryBytes: mean(
      usages.map((each) => firstOf(each, (usage) => figures.of(usage.memory(nowMs, window)))),
    ),
    pods: member.pods.map(podPlacement).sort((a, b) => compareText(a.name, b.name)),
  };
}

/** Usage sources of a pod: its own node's sender first, then trusted others. */
function usagesOf(pod: PodState, { pods }: MeasuredTables): (UsageState | undefined)[] {
  const name = fullName(pod);
  return [pod.node === null ? undefined : pods.get(podEntryOnNode(name, pod.node)), pods.get(name)];
}

function firstOf(
  usages: readonly (UsageState | undefined)[],
  quantity: (usage: UsageState) => number | null,
): number | null {
  for (const usage of usages) {
    const value = usage === undefined ? null : quantity(usage);
    if (value !== null) return value;
  }
  return null;
}

function podPlacement(pod: PodState): PodPlacement {
  const { name, node, ingressLimitBitsPerSecond: ingress, egressLimitBitsPerSecond: egress } = pod;
  return {
    name,
    node,
    ...(ingress === undefined ? {} : { ingressLimitBitsPerSecond: ingress }),
    ...(egress === undefined ? {} : { egressLimitBitsPerSecond: egress }),
  };
}

/** Mean over pods with data. A new pod without data counts neither as idle nor as unknown. */
function mean(values: readonly (number | null)[]): number | null {
  let sum = 0;
  let count = 0;
  for (const value of values) {
    if (value === null) continue;
    sum += value;
    count++;
  }
  return count === 0 ? null : sum / count;
}

const NO_RATES = { bytesPerSecond: null, requestsPerSecond: null, errorRatio: null, newestMs: Number.NaN };
const NO_NEEDS = { priority: null, maxNetworkCost: null, minBandwidthBitsPerSecond: null };

function buildChannel(
  { rates, demands, edge: { flow } }: View,
  source: string,
  target: string,
  nowMs: number,
  figures: Figures,
): Channel {
  const { bytesPerSecond, requestsPerSecond, errorRatio, newestMs } = rates ?? NO_RATES;
  const { priority, maxNetworkCost, minBandwidthBitsPerSecond } = demands ?? NO_NEEDS;
  return {
    source,
    target,
    bytesPerSecond: figures.of(bytesPerSecond),
    requestsPerSecond: figures.of(requestsPerSecond),
    errorRatio: figures.of(errorRatio, 1),
    priority: figures.of(priority),
    maxNetworkCost: figures.of(maxNetworkCost),
    minBandwidthBitsPerSecond: figures.of(minBandwidthBitsPerSecond),
    ...(demands?.relationshipType === undefined ? {} : { relationshipType: demands.relationshipType }),
    ...(flow === null ? {} : { flow: flowOf(flow, figures) }),
    origin: rates === null && flow === null ? "declared" : "observed",
    ...(rates === null ? {} : countedBy(rates)),
    ageSeconds: ageSeconds(Number.isNaN(newestMs) ? (flow?.newestMs ?? newestMs) : newestMs, nowMs),
  };
}

function countedBy({ reporter, requestsReporter }: ChannelRates): Partial<Channel> {
  return requestsReporter === reporter
    ? { countedBy: reporter }
    : { countedBy: reporter, requestsCountedBy: requestsReporter };
}

function flowOf(rates: FlowRates, figures: Figures): NonNullable<Channel["flow"]> {
  return {
    allowedBitsPerSecond: figures.of(rates.allowedBitsPerSecond) ?? 0,
    achievedBitsPerSecond: figures.of(rates.achievedBitsPerSecond) ?? 0,
    droppedPacketsPerSecond: figures.of(rates.droppedPacketsPerSecond) ?? 0,
  };
}
