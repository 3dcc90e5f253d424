// The workflow graph that a dump declares for one namespace: workloads and traffic by annotations,
// dependencies by AppGroups.
import { WorkflowGraph } from "@isochrone/topology";
import { controlledWorkload } from "@isochrone/primitives/workload-name";
import type { Channel, ChannelDemands, DeclaredWorkload, ReadTraffic, Workload } from "@isochrone/topology";
import { workloadAnnotations } from "./annotations.ts";
import { NO_TIME } from "./dump-cluster.ts";
import { appGroupChannels, isGenerated } from "./dump-app-groups.ts";
import { declaredNeeds } from "./dump-dependencies.ts";
import { isLive, nodeOf, WORKLOAD_KINDS } from "./dump-pods.ts";
import type { WorkloadIndex } from "./dump-pods.ts";
import { PairTraffic } from "./pair-traffic.ts";
import type { DumpObject } from "./read-objects.ts";

/**
 * `pod` is the one to be scored, among `objects`. A `traffic-b` of workload a is what the pair exchanges, in
 * both directions together; where both ends state it, the larger amount counts, once, on the channel of the
 * end that starts the exchange.
 */
export function dumpWorkflow(
  objects: readonly DumpObject[],
  pod: DumpObject,
  index: WorkloadIndex,
  prefixes: readonly string[],
): WorkflowGraph {
  const { namespace } = pod;
  const own = objects.filter((object) => object.namespace === namespace).map(asWorkload);
  const workloads = new Map<string, Workload>();
  const channels = new Map<string, Channel>();
  const traffic = new PairTraffic();
  for (const object of own)
    if (WORKLOAD_KINDS.has(object.kind)) addWorkload(object, object.name, prefixes, workloads, traffic);
  for (const each of own)
    if (each.kind === "Pod" && (each === pod || isLive(each)))
      addPod(each, index, prefixes, workloads, traffic);
  for (const group of own) {
    if (group.kind !== "AppGroup" || isGenerated(group)) continue;
    for (const { source, target, demands } of appGroupChannels(group, index)) {
      declare(channels, nameIn(namespace, source), nameIn(namespace, target), demands);
    }
  }
  // Nearer to the workload than an AppGroup: of a pair that both declare, this counts.
  const callers = own.filter(({ kind }) => WORKLOAD_KINDS.has(kind) && kind !== "ReplicaSet");
  for (const { source, target, demands } of callers.flatMap((object) => declaredNeeds(object, prefixes)))
    declare(channels, source, target, demands);
  // Who starts an exchange is known by its declaration, too.
  for (const each of traffic.channels((source, target) => channels.has(keyOf(source, target)))) {
    const { source, target, bytesPerSecond } = each;
    channels.set(keyOf(source, target), { ...channelOf(channels, source, target), bytesPerSecond });
  }
  addFarEnds(objects, index, workloads, [...channels.values()]);
  return new WorkflowGraph({
    version: 0,
    observedAt: NO_TIME,
    namespace,
    name: namespace,
    workloads: [...workloads.values()],
    channels: [...channels.values()],
  });
}

/** A Job of a schedule has its CronJob's name, as its pods' workload has. */
function asWorkload(object: DumpObject): DumpObject {
  const { kind, name } = object;
  if (kind !== "Job") return object;
  return { ...object, name: controlledWorkload({ name, labels: undefined }, { kind, name }).name };
}

/** Workloads of other namespaces at the ends of channels, with their pods. */
function addFarEnds(
  objects: readonly DumpObject[],
  index: WorkloadIndex,
  workloads: Map<string, Workload>,
  channels: readonly Channel[],
): void {
  const ends = new Set(channels.flatMap(({ source, target }) => [source, target]));
  const far = new Set([...ends].filter((name) => name.includes("/")));
  if (far.size === 0) return;
  for (const pod of objects) {
    if (pod.kind !== "Pod" || !isLive(pod)) continue;
    const { name: workload, kind } = index.workloadOf(pod);
    const name = `${pod.namespace}/${workload}`;
    if (!far.has(name)) continue;
    const known = workloads.get(name) ?? { ...NOTHING_KNOWN, name, kind, namespace: pod.namespace };
    workloads.set(name, { ...known, pods: [...known.pods, { name: pod.name, node: nodeOf(pod) }] });
  }
}

const NOTHING_KNOWN = { cpuMillicores: null, memoryBytes: null, pods: [] };

function addWorkload(
  object: DumpObject,
  name: string,
  prefixes: readonly string[],
  workloads: Map<string, Workload>,
  traffic: PairTraffic,
): void {
  const annotations = workloadAnnotations(object, prefixes);
  const before = workloads.get(name);
  workloads.set(name, {
    name,
    kind: before?.kind ?? object.kind,
    namespace: object.namespace,
    cpuMillicores: annotations.cpuMillicores ?? before?.cpuMillicores ?? null,
    memoryBytes: annotations.memoryBytes ?? before?.memoryBytes ?? null,
    pods: before?.pods ?? [],
  });
  // A Deployment's annotations are copied to its ReplicaSets: what they repeat is not said twice.
  if (object.kind === "ReplicaSet") return;
  for (const peer of annotations.traffic) traffic.state(name, nameIn(object.namespace, peer), peer);
}

/** A workload of another namespace is called namespace/name, as in the graph API. */
function nameIn(own: string, { namespace, name }: ReadTraffic | DeclaredWorkload): string {
  return namespace === null || namespace === own ? name : `${namespace}/${name}`;
}

function addPod(
  pod: DumpObject,
  index: WorkloadIndex,
  prefixes: readonly string[],
  workloads: Map<string, Workload>,
  traffic: PairTraffic,
): void {
  const { name, kind } = index.workloadOf(pod);
  if (kind === "Pod") addWorkload(pod, name, prefixes, workloads, traffic);
  const workload = workloads.get(name) ?? { ...NOTHING_KNOWN, name, kind, namespace: pod.namespace };
  workloads.set(name, { ...workload, pods: [...workload.pods, { name: pod.name, node: nodeOf(pod) }] });
}

/** Of several declarations of a pair the last counts, as a whole. */
function declare(
  channels: Map<string, Channel>,
  source: string,
  target: string,
  demands: ChannelDemands,
): void {
  const { relationshipType: _, ...channel } = channelOf(channels, source, target);
  channels.set(keyOf(source, target), { ...channel, ...demands });
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
