import {
  type InterfaceChoice,
  isIdleTime,
  isNodeInterface,
  isOfCores,
  NODE_METRICS,
  podLabel,
  RESOURCE_ATTRIBUTES,
  type Attributes,
  type CounterTracks,
  type Increment,
  type Series,
} from "@isochrone/telemetry";
import type { NamespacedName } from "../cluster-state.ts";
import { IncrementSink } from "./increments.ts";
import type { PointTime } from "../point-time.ts";
import { NOT_YOURS, UNUSED_SINKS, type Sink } from "./sink.ts";
import { OPEN_PERMIT, type Permit } from "../speakers/permit.ts";
import { mapOf, textOf, type Labels } from "../text.ts";
import type {
  CounterTarget,
  LevelTarget,
  MemorySource,
  SinkTables,
  UsageCounter,
  UsageSource,
  UsageTarget,
} from "./sink-tables.ts";
import type { Direction } from "../usage/usage.ts";

type UsageLabels = Labels<
  "cpu" | "direction" | "id" | "image" | "interface" | "job" | "metrics_path" | "mode" | "name" | "node"
>;

type Labelled = Pick<Series, "resource"> & { readonly attributes: UsageLabels };

type UsageTables = Pick<SinkTables, "pods" | "nodes">;

type Scope = "container" | "pod" | "node";
type Quantity = "cpuCounter" | "cpuLevel" | "memory";

interface Told {
  readonly source: MemorySource;
  readonly scope: Scope;
  readonly quantity: Quantity;
}

const NODE_EXPORTER_CPU = "node_cpu_seconds_total";

/** Metrics whose names suffice, without labels. */
const TOLD_BY_NAME = mapOf<Told>({
  "k8s.node.cpu.usage": { source: "kubelet", scope: "node", quantity: "cpuLevel" },
  "k8s.node.cpu.time": { source: "kubelet", scope: "node", quantity: "cpuCounter" },
  "k8s.node.memory.working_set": { source: "kubelet", scope: "node", quantity: "memory" },
  "k8s.pod.cpu.usage": { source: "kubelet", scope: "pod", quantity: "cpuLevel" },
  "k8s.pod.cpu.time": { source: "kubelet", scope: "pod", quantity: "cpuCounter" },
  "k8s.pod.memory.working_set": { source: "kubelet", scope: "pod", quantity: "memory" },
  "container.cpu.usage": { source: "kubelet", scope: "container", quantity: "cpuLevel" },
  "container.cpu.time": { source: "kubelet", scope: "container", quantity: "cpuCounter" },
  "container.memory.working_set": { source: "kubelet", scope: "container", quantity: "memory" },
  node_cpu_usage_seconds_total: { source: "resource", scope: "node", quantity: "cpuCounter" },
  node_memory_working_set_bytes: { source: "resource", scope: "node", quantity: "memory" },
  [NODE_EXPORTER_CPU]: { source: "nodeExporter", scope: "node", quantity: "cpuCounter" },
  node_memory_MemAvailable_bytes: { source: "nodeExporter", scope: "node", quantity: "memory" },
});

/** Metrics on both cAdvisor's page and `/metrics/resource`. Labels tell scope and source. */
const TOLD_BY_LABELS = mapOf<Quantity>({
  container_cpu_usage_seconds_total: "cpuCounter",
  container_memory_working_set_bytes: "memory",
});

/** Interface byte counters with their source and direction; null: an attribute gives the direction. */
const NETWORK = mapOf<{ readonly by: "card" | "cgroup" | "kubelet"; readonly direction: Direction | null }>({
  container_network_receive_bytes_total: { by: "cgroup", direction: "receive" },
  container_network_transmit_bytes_total: { by: "cgroup", direction: "transmit" },
  "k8s.node.network.io": { by: "kubelet", direction: null },
  [NODE_METRICS.network]: { by: "card", direction: null },
});

/** Unused: allocatable comes from node objects, pods on `/metrics/resource` are sums of containers. */
const IGNORED_NAMES: ReadonlySet<string> = new Set([
  "machine_cpu_cores",
  "machine_memory_bytes",
  "pod_cpu_usage_seconds_total",
  "pod_memory_working_set_bytes",
]);
const IGNORED: Sink = { live: true, unused: null };

class CounterSink extends IncrementSink {
  readonly #owner: UsageTarget;
  readonly #counter: CounterTarget;

  constructor(owner: UsageTarget, counter: CounterTarget, series: Series, tracks: CounterTracks) {
    super(series, tracks);
    this.#owner = owner;
    this.#counter = counter;
  }

  get live(): boolean {
    return this.#owner.live;
  }

  protected take(increment: Increment): void {
    this.#counter.take(increment);
  }
}

/**
 * A counter of one interface and direction, or of a node's idle time. Ignores start times: these counters run
 * since boot, and after a restart of the kubelet or exporter the start would attribute all of it to the last
 * seconds.
 */
class SinceBootSink extends CounterSink {
  override number(point: PointTime, value: number): void {
    this.observe(point, 0, value);
  }
}

class InterfaceSink extends SinceBootSink {
  readonly #name: string;
  readonly #choice: InterfaceChoice;

  constructor(
    owner: UsageTarget,
    { name, counter }: { readonly name: string; readonly counter: CounterTarget },
    series: Series,
    tracks: CounterTracks,
  ) {
    super(owner, counter, series, tracks);
    this.#name = name;
    this.#choice = owner.interfaces();
    this.#choice.see(name);
  }

  override get unused(): "unclear_interface" | null {
    return this.#choice.isUnclear(this.#name) ? "unclear_interface" : null;
  }

  protected override take(increment: Increment): void {
    if (this.#choice.counts(this.#name)) super.take(increment);
  }
}

class LevelSink implements Sink {
  readonly #owner: UsageTarget;
  readonly #level: LevelTarget;

  constructor(owner: UsageTarget, level: LevelTarget) {
    this.#owner = owner;
    this.#level = level;
  }

  get unused(): null {
    return null;
  }

  get live(): boolean {
    return this.#owner.live;
  }

  number(point: PointTime, value: number): void {
    this.#level.take(point.eventMs, value);
  }
}

/** A container's CPU gauge; used only if the pod has no better source. */
class ContainerCpuSink implements Sink {
  readonly unused = null;
  readonly #owner: UsageTarget;
  readonly #container: string;
  #level: LevelTarget | null = null;

  constructor(owner: UsageTarget, container: string) {
    this.#owner = owner;
    this.#container = container;
  }

  get live(): boolean {
    return this.#owner.live;
  }

  number({ eventMs }: PointTime, value: number): void {
    if (this.#owner.tellsCpu(eventMs)) return;
    this.#level ??= this.#owner.cpuLevel(this.#container);
    this.#level.take(eventMs, value);
  }
}

export function bindUsage(
  series: Series,
  tables: UsageTables,
  tracks: CounterTracks,
  permit: Permit = OPEN_PERMIT,
): Sink | null {
  if (IGNORED_NAMES.has(series.name)) return IGNORED;
  if (NETWORK.has(series.name)) return bindNetwork(series, tables, tracks, permit);
  // Other modes are used time or time that nobody can use.
  if (series.name === NODE_EXPORTER_CPU && !isIdleTime(modeOf(series))) return IGNORED;
  const told = TOLD_BY_NAME.get(series.name) ?? toldByLabels(series);
  if (told === null) return TOLD_BY_LABELS.has(series.name) ? IGNORED : null;
  const owner = openOwner(series, told.scope, tables, permit);
  return isSink(owner) ? owner : sinkOf(series, told, owner, tracks);
}

function modeOf({ attributes }: Labelled): string {
  return textOf(attributes.mode) ?? "";
}

/** Returns null for other metrics, and for rows that are included in others. */
function toldByLabels(series: Series): Told | null {
  const quantity = TOLD_BY_LABELS.get(series.name);
  const scope = quantity === undefined ? null : cadvisorScope(series);
  if (quantity === undefined || scope === null) return null;
  return { source: scope === "container" ? sourceOfContainer(series) : "cadvisor", scope, quantity };
}

/** Container labels that cAdvisor sets and `/metrics/resource` does not. */
const LABELS_OF_CADVISOR = ["id", "image", "name"] as const;
/** Job names that scrape cAdvisor's page. In Prometheus mode our collector scrapes nothing else. */
const JOB_OF_CADVISOR = /cadvisor|^isochrone-prometheus$/i;

/**
 * Rows of pods and nodes with these names are from cAdvisor. Container rows are on both pages, and a
 * collector may have dropped the labels that distinguish them; then the job name decides.
 */
function sourceOfContainer({ attributes, resource }: Labelled): UsageSource {
  if (LABELS_OF_CADVISOR.some((label) => (attributes[label] ?? "") !== "")) return "cadvisor";
  const names = [resource[RESOURCE_ATTRIBUTES.serviceName], attributes.job, attributes.metrics_path];
  return names.some((name) => JOB_OF_CADVISOR.test(textOf(name) ?? "")) ? "cadvisor" : "resource";
}

/**
 * Container rows have a container name. Pod cgroup rows have a pod, but neither container nor name. The node
 * row has the id "/". Other rows (pause containers, system slices) are parts of these and would count twice.
 */
function cadvisorScope(series: Labelled): Scope | null {
  const { id, name = "" } = series.attributes;
  if (id === "/") return "node";
  if (textOf(podText("pod", series)) === null) return null;
  const container = podText("container", series);
  if (container !== "") return container === "POD" ? null : "container";
  return name === "" ? "pod" : null;
}

function openOwner(series: Series, scope: Scope, tables: UsageTables, permit: Permit): UsageTarget | Sink {
  return scope === "node" ? openNode(series, tables, permit) : openPod(series, tables, permit);
}

function openNode(
  series: Series,
  { nodes }: UsageTables,
  { authority, facts, strangers }: Permit,
): UsageTarget | Sink {
  const name = nodeName(series);
  if (name === null) return UNUSED_SINKS.unattributed;
  if (!authority.speaksForNode(name)) return NOT_YOURS;
  if (facts.isNode(name) === "no") return nodes.open(name, strangers) ?? UNUSED_SINKS.unknown_node;
  return nodes.open(name) ?? UNUSED_SINKS.too_many_pods;
}

/** An unknown pod is in no graph. A new pod is looked up again. */
function openPod(
  series: Series,
  { pods }: UsageTables,
  { authority, facts, rooms }: Permit,
): UsageTarget | Sink {
  const pod = podName(series);
  if (pod === null) return UNUSED_SINKS.unattributed;
  const entry = authority.podEntry(pod.namespace, pod.name);
  if (entry === null) return NOT_YOURS;
  if (facts.podNamed(pod.namespace, pod.name) === "no") return UNUSED_SINKS.unknown_pod;
  return pods.open(entry, rooms.pods) ?? UNUSED_SINKS.too_many_pods;
}

function isSink(value: UsageTarget | Sink): value is Sink {
  return "unused" in value;
}

function nodeName({ attributes, resource }: Labelled): string | null {
  return textOf(resource[RESOURCE_ATTRIBUTES.node]) ?? textOf(attributes.node);
}

function podText(name: "namespace" | "pod" | "container", { attributes }: Labelled): string {
  const labels: Attributes = attributes;
  return podLabel(name, (label) => {
    const value = labels[label];
    return typeof value === "string" ? value : "";
  });
}

function podName(series: Labelled): NamespacedName | null {
  const { resource } = series;
  const namespace = textOf(podText("namespace", series)) ?? textOf(resource[RESOURCE_ATTRIBUTES.namespace]);
  const pod = textOf(podText("pod", series)) ?? textOf(resource[RESOURCE_ATTRIBUTES.pod]);
  return namespace === null || pod === null ? null : { namespace, name: pod };
}

function sinkOf(
  series: Series,
  { source, scope, quantity }: Told,
  owner: UsageTarget,
  tracks: CounterTracks,
): Sink {
  const container = scope === "container" ? containerName(series) : null;
  if (quantity === "cpuLevel")
    return container === null
      ? new LevelSink(owner, owner.cpuLevel(null))
      : new ContainerCpuSink(owner, container);
  if (quantity === "memory") return new LevelSink(owner, owner.memoryLevel({ source, container }));
  if (series.kind !== "sum") return UNUSED_SINKS.unknown_metric;
  if (source === "nodeExporter")
    return new SinceBootSink(owner, owner.counter("nodeExporterIdleCpu"), series, tracks);
  return new CounterSink(owner, owner.counter(cpuCounter(series, source, scope)), series, tracks);
}

function cpuCounter({ attributes }: Labelled, source: UsageSource, scope: Scope): UsageCounter {
  const part = scope === "container" ? "Containers" : "";
  const isPart = source === "cadvisor" && isOfCores(textOf(attributes.cpu) ?? "");
  return isPart ? `cadvisor${part}CoresCpu` : `${source}${part}Cpu`;
}

function containerName(series: Labelled): string {
  return podText("container", series) || String(series.resource[RESOURCE_ATTRIBUTES.container] ?? "");
}

/** Ignores rows of pods: channels give their traffic. */
function bindNetwork(series: Series, tables: UsageTables, tracks: CounterTracks, permit: Permit): Sink {
  const told = NETWORK.get(series.name);
  if (told === undefined) return IGNORED;
  const { by } = told;
  const direction = told.direction ?? directionOf(series);
  const name = interfaceOf(series);
  if (by === "cgroup" && cadvisorScope(series) !== "node") return IGNORED;
  if (direction === null || name === null) return UNUSED_SINKS.unattributed;
  if (series.kind !== "sum" || series.temporality !== "cumulative") return UNUSED_SINKS.unknown_metric;
  if (by !== "card" && !isNodeInterface(name)) return IGNORED;
  const owner = openNode(series, tables, permit);
  if (isSink(owner)) return owner;
  const counter = owner.counter(`${by}${direction === "receive" ? "Receive" : "Transmit"}`);
  return by === "card"
    ? new SinceBootSink(owner, counter, series, tracks)
    : new InterfaceSink(owner, { name, counter }, series, tracks);
}

function interfaceOf({ attributes }: Labelled): string | null {
  return textOf(attributes.interface);
}

function directionOf({ attributes }: Labelled): Direction | null {
  const { direction } = attributes;
  return direction === "receive" || direction === "transmit" ? direction : null;
}
