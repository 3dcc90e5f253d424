// The workflow graph that a dump declares for one namespace: workloads and traffic by annotations, dependencies by AppGroups.
import { parseQuantity } from "@isochrone/placement";
import { boundedDemands, OWN_NAMESPACE_ONLY, WorkflowGraph } from "@isochrone/topology";
import type { Channel, ReadTraffic, Workload } from "@isochrone/topology";
import { workloadAnnotations } from "./annotations.ts";
import { NO_TIME } from "./dump-cluster.ts";
import { declaredNeeds } from "./dump-dependencies.ts";
import { appGroupSelectorOf, isLive, nodeOf, WORKLOAD_KINDS } from "./dump-pods.ts";
import type { WorkloadIndex } from "./dump-pods.ts";
import { listOf, recordOf, textOf } from "./read-objects.ts";
import type { DumpObject, Json } from "./read-objects.ts";

/**
 * `pod` is the one to be scored; it need not be in the dump. A `traffic-b` of workload a is what the pair exchanges, in both
 * directions together; where both ends state it, the larger amount counts, once. `deadToo`: pods that ended or are being deleted count.
 */
export function dumpWorkflow(
  objects: readonly DumpObject[],
  pod: DumpObject,
  index: WorkloadIndex,
  prefixes: readonly string[],
  deadToo = false,
): WorkflowGraph {
  const { namespace } = pod;
  const own = objects.filter((object) => object.namespace === namespace);
  const workloads = new Map<string, Workload>();
  const channels = new Map<string, Channel>();
  for (const object of own)
    if (WORKLOAD_KINDS.has(object.kind)) addWorkload(object, prefixes, workloads, channels);
  const others = own.filter((object) => object.kind === "Pod" && object.name !== pod.name);
  for (const each of [...others, pod])
    if (deadToo || isLive(each)) addPod(each, index, prefixes, workloads, channels);
  const bySelector = new Map<string, string>();
  for (const each of [...others, pod]) {
    const selector = appGroupSelectorOf(each);
    if (selector !== null) bySelector.set(selector, index.workloadOf(each).name);
  }
  for (const object of own)
    if (object.kind === "AppGroup") addDependencies(object, bySelector, workloads, channels);
  // Nearer to the workload than an AppGroup: what both say, this says last.
  const callers = own.filter(({ kind }) => WORKLOAD_KINDS.has(kind) && kind !== "ReplicaSet");
  for (const { source, target, needs } of callers.flatMap((object) => declaredNeeds(object, prefixes)))
    channels.set(keyOf(source, target), { ...channelOf(channels, source, target), ...needs });
  return new WorkflowGraph({
    version: 0,
    observedAt: NO_TIME,
    namespace,
    name: namespace,
    workloads: [...workloads.values()],
    channels: [...channels.values()],
  });
}

function addWorkload(
  object: DumpObject,
  prefixes: readonly string[],
  workloads: Map<string, Workload>,
  channels: Map<string, Channel>,
): void {
  const annotations = workloadAnnotations(object, prefixes);
  const before = workloads.get(object.name);
  workloads.set(object.name, {
    name: object.name,
    kind: before?.kind ?? object.kind,
    namespace: object.namespace,
    cpuMillicores: annotations.cpuMillicores ?? before?.cpuMillicores ?? null,
    memoryBytes: annotations.memoryBytes ?? before?.memoryBytes ?? null,
    pods: before?.pods ?? [],
  });
  // A Deployment's annotations are copied to its ReplicaSets: what they repeat is not said twice.
  if (object.kind === "ReplicaSet") return;
  for (const peer of annotations.traffic)
    addTraffic(channels, object.name, nameIn(object.namespace, peer), peer.bytesPerSecond);
}

/** A workload of another namespace is called namespace/name, as in the graph API. */
function nameIn(own: string, { namespace, name }: ReadTraffic): string {
  return namespace === null || namespace === own ? name : `${namespace}/${name}`;
}

/** The first statement on a pair makes the channel; a later one, of either end, can only raise its amount. */
function addTraffic(
  channels: Map<string, Channel>,
  workload: string,
  peer: string,
  bytesPerSecond: number,
): void {
  const reverse = channels.get(keyOf(peer, workload));
  const turned = reverse !== undefined && reverse.bytesPerSecond !== null;
  const [source, target] = turned ? [peer, workload] : [workload, peer];
  const channel = channelOf(channels, source, target);
  const most = Math.max(bytesPerSecond, channel.bytesPerSecond ?? 0);
  channels.set(keyOf(source, target), { ...channel, bytesPerSecond: most });
}

function addPod(
  pod: DumpObject,
  index: WorkloadIndex,
  prefixes: readonly string[],
  workloads: Map<string, Workload>,
  channels: Map<string, Channel>,
): void {
  const { name, kind } = index.workloadOf(pod);
  if (kind === "Pod") addWorkload(pod, prefixes, workloads, channels);
  const workload = workloads.get(name) ?? {
    name,
    kind,
    namespace: pod.namespace,
    cpuMillicores: null,
    memoryBytes: null,
    pods: [],
  };
  workloads.set(name, { ...workload, pods: [...workload.pods, { name: pod.name, node: nodeOf(pod) }] });
}

/**
 * KEP-260: workloads are known by their pods' selector label, else by name; a dependency's limits are the channel's. As in the aggregator
 * an AppGroup declares channels of its own namespace's workloads alone.
 */
function addDependencies(
  group: DumpObject,
  bySelector: ReadonlyMap<string, string>,
  workloads: ReadonlyMap<string, Workload>,
  channels: Map<string, Channel>,
): void {
  const entries = listOf(recordOf(group.json["spec"])["workloads"]).map(recordOf);
  const nameOf = (reference: unknown): string | null => referredName(group, reference, bySelector, workloads);
  for (const [row, entry] of entries.entries()) {
    if (!OWN_NAMESPACE_ONLY.mayDeclareFor(group.namespace, namespaceIn(group, entry["workload"]))) continue;
    const source = nameOf(entry["workload"]);
    for (const [column, dependency] of listOf(entry["dependencies"]).map(recordOf).entries()) {
      const target = nameOf(dependency["workload"]);
      if (source === null || target === null) continue;
      const needs = needsOf(group, ["spec", "workloads", row, "dependencies", column], dependency);
      channels.set(keyOf(source, target), { ...channelOf(channels, source, target), ...needs });
    }
  }
}

function namespaceIn(group: DumpObject, reference: unknown): string {
  return textOf(recordOf(reference)["namespace"]) ?? group.namespace;
}

function referredName(
  group: DumpObject,
  reference: unknown,
  bySelector: ReadonlyMap<string, string>,
  workloads: ReadonlyMap<string, Workload>,
): string | null {
  const { name, selector } = recordOf(reference);
  const names = [textOf(name), textOf(selector)].filter((candidate) => candidate !== null);
  const namespace = namespaceIn(group, reference);
  if (namespace !== group.namespace) return names[0] === undefined ? null : `${namespace}/${names[0]}`;
  const labelled = bySelector.get(textOf(selector) ?? "");
  return labelled ?? names.find((candidate) => workloads.has(candidate)) ?? names[0] ?? null;
}

function needsOf(
  group: DumpObject,
  at: readonly (string | number)[],
  dependency: Json,
): Pick<Channel, "maxNetworkCost" | "minBandwidthBitsPerSecond"> {
  const { maxNetworkCost: cost = null, minBandwidth = null } = dependency;
  if (cost !== null && (typeof cost !== "number" || !(cost >= 0)))
    throw group.fail([...at, "maxNetworkCost"], "must be a number of at least 0", cost);
  const bandwidth = minBandwidth === null ? null : parseQuantity(minBandwidth);
  if (minBandwidth !== null && bandwidth === null)
    throw group.fail([...at, "minBandwidth"], "must be a quantity", minBandwidth);
  const { maxNetworkCost, minBandwidthBitsPerSecond } = boundedDemands({
    priority: null,
    maxNetworkCost: cost,
    minBandwidthBitsPerSecond: bandwidth,
  });
  return { maxNetworkCost, minBandwidthBitsPerSecond };
}

function channelOf(channels: ReadonlyMap<string, Channel>, source: string, target: string): Channel {
  return (
    channels.get(keyOf(source, target)) ?? {
      source,
      target,
      bytesPerSecond: null,
      requestsPerSecond: null,
      errorRatio: null,
      priority: null,
      maxNetworkCost: null,
      minBandwidthBitsPerSecond: null,
      origin: "declared",
      ageSeconds: null,
    }
  );
}

function keyOf(source: string, target: string): string {
  return `${source}\n${target}`;
}
