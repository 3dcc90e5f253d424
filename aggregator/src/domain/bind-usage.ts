import { RESOURCE_ATTRIBUTES, type Series } from "@isochrone/telemetry";
import { IncrementSource } from "./increments.ts";
import type { PointTime } from "./point-time.ts";
import { UNUSED_SINKS, type Sink } from "./sink.ts";
import { textOf } from "./text.ts";
import { CpuCounter, LastLevel, LevelMean, type UsageState, type UsageTable } from "./usage.ts";
import type { WindowShape } from "./window-shape.ts";

/** Where usage goes. */
export interface UsageTables {
  readonly shape: WindowShape;
  /** By namespace/name. */
  readonly pods: UsageTable;
  /** By node name. */
  readonly nodes: UsageTable;
}

type Scope = "container" | "pod" | "node";
type Quantity = "cpuCounter" | "cpuLevel" | "memory";

/** Metrics whose scope is part of their name (kubeletstats receiver). */
const KUBELET: Readonly<Record<string, { readonly scope: Scope; readonly quantity: Quantity }>> = {
  "k8s.node.cpu.usage": { scope: "node", quantity: "cpuLevel" },
  "k8s.node.cpu.time": { scope: "node", quantity: "cpuCounter" },
  "k8s.node.memory.working_set": { scope: "node", quantity: "memory" },
  "k8s.pod.cpu.usage": { scope: "pod", quantity: "cpuLevel" },
  "k8s.pod.cpu.time": { scope: "pod", quantity: "cpuCounter" },
  "k8s.pod.memory.working_set": { scope: "pod", quantity: "memory" },
  "container.cpu.time": { scope: "container", quantity: "cpuCounter" },
  "container.memory.working_set": { scope: "container", quantity: "memory" },
};

/** cAdvisor's metrics, whose scope is told by labels. */
const CADVISOR: Readonly<Record<string, Quantity>> = {
  container_cpu_usage_seconds_total: "cpuCounter",
  container_memory_working_set_bytes: "memory",
};

/** Known and not needed: allocatable, which is what placement counts with, comes from the node objects. */
const IGNORED_NAMES: ReadonlySet<string> = new Set([
  "machine_cpu_cores",
  "machine_memory_bytes",
  "container.cpu.usage",
]);
const IGNORED: Sink = { live: true, unused: null };

class CpuCounterSink implements Sink {
  readonly unused = null;
  readonly #owner: UsageState;
  readonly #source: IncrementSource;
  readonly #counter: CpuCounter;

  constructor(owner: UsageState, source: IncrementSource, counter: CpuCounter) {
    this.#owner = owner;
    this.#source = source;
    this.#counter = counter;
  }

  get live(): boolean {
    return this.#owner.live;
  }

  number(point: PointTime, value: number): void {
    const increment = this.#source.next(point, value);
    if (increment !== null) this.#counter.take(increment);
  }
}

class LevelSink implements Sink {
  readonly unused = null;
  readonly #owner: UsageState;
  readonly #level: { take(eventMs: number, value: number): void };

  constructor(owner: UsageState, level: { take(eventMs: number, value: number): void }) {
    this.#owner = owner;
    this.#level = level;
  }

  get live(): boolean {
    return this.#owner.live;
  }

  number(point: PointTime, value: number): void {
    this.#level.take(point.eventMs, value);
  }
}

/** What a usage metric flows into; null when the series isn't one. */
export function bindUsage(series: Series, tables: UsageTables): Sink | null {
  if (IGNORED_NAMES.has(series.name)) return IGNORED;
  const kubelet = KUBELET[series.name];
  if (kubelet !== undefined) {
    const owner = openOwner(series, kubelet.scope, tables);
    return isSink(owner) ? owner : sinkOf(series, kubelet.quantity, kubelet.scope, owner, tables.shape);
  }
  const quantity = CADVISOR[series.name];
  if (quantity === undefined) return null;
  const scope = cadvisorScope(series);
  if (scope === null) return IGNORED;
  const owner = openOwner(series, scope, tables);
  return isSink(owner) ? owner : sinkOf(series, quantity, scope, owner, tables.shape);
}

/**
 * A row of a real container names it; the row of the pod's cgroup has a pod and neither container nor name; the row of the
 * node has the id "/". All other rows (pause containers, system slices) are parts of one of these and would count twice.
 */
function cadvisorScope({ attributes }: Series): Scope | null {
  const container = attributes["container"] ?? "";
  if (attributes["id"] === "/") return "node";
  if (textOf(attributes["pod"]) === null) return null;
  if (container !== "") return container === "POD" ? null : "container";
  return (attributes["name"] ?? "") === "" ? "pod" : null;
}

function openOwner(series: Series, scope: Scope, tables: UsageTables): UsageState | Sink {
  const name = scope === "node" ? nodeName(series) : podName(series);
  if (name === null) return UNUSED_SINKS.unattributed;
  return (scope === "node" ? tables.nodes : tables.pods).open(name) ?? UNUSED_SINKS.too_many_pods;
}

function isSink(value: UsageState | Sink): value is Sink {
  return "unused" in value;
}

function nodeName({ attributes, resource }: Series): string | null {
  return textOf(resource[RESOURCE_ATTRIBUTES.node]) ?? textOf(attributes["node"]);
}

function podName({ attributes, resource }: Series): string | null {
  const namespace = textOf(attributes["namespace"]) ?? textOf(resource["k8s.namespace.name"]);
  const pod = textOf(attributes["pod"]) ?? textOf(resource["k8s.pod.name"]);
  return namespace === null || pod === null ? null : `${namespace}/${pod}`;
}

function sinkOf(
  series: Series,
  quantity: Quantity,
  scope: Scope,
  owner: UsageState,
  shape: WindowShape,
): Sink {
  // Kubelet's ready-made figures rank below cgroup rows of the same pod, which rank below its containers.
  if (quantity === "cpuLevel") return new LevelSink(owner, (owner.levelCpu ??= new LevelMean(shape)));
  if (quantity === "memory") return new LevelSink(owner, memoryOf(series, scope, owner));
  if (series.kind !== "sum") return UNUSED_SINKS.unknown_metric;
  const counter =
    scope === "container"
      ? (owner.containersCpu ??= new CpuCounter(shape))
      : (owner.cgroupCpu ??= new CpuCounter(shape));
  return new CpuCounterSink(owner, new IncrementSource(series, shape.windowMs), counter);
}

function memoryOf(series: Series, scope: Scope, owner: UsageState): LastLevel {
  if (scope !== "container") {
    if (series.name in CADVISOR) return (owner.cgroupMemory ??= new LastLevel());
    return (owner.levelMemory ??= new LastLevel());
  }
  const container = String(series.attributes["container"] ?? series.resource["k8s.container.name"] ?? "");
  let level = owner.containersMemory.get(container);
  if (level === undefined) owner.containersMemory.set(container, (level = new LastLevel()));
  return level;
}
