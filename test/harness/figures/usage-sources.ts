import type { Attributes } from "@isochrone/telemetry";
import { NAMESPACE, type ContainerDraw, type Draw, type NodeDraw, type PodDraw } from "./draw.ts";
import { counter, gauge, type Labels, type Row } from "./rows.ts";

/** cAdvisor shows an ended container for this long with its last figures. */
const REMEMBERED_MS = 60_000;
const CORES = ["cpu00", "cpu01"];

function podsOn(draw: Draw, node: NodeDraw): PodDraw[] {
  return draw.pods.filter((pod) => pod.node === node);
}

export const coresOf = ({ containers }: PodDraw): number =>
  containers.reduce((sum, { cores }) => sum + cores, 0);
export const memoryOf = ({ containers }: PodDraw): number =>
  containers.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
const seconds = (fromMs: number, toMs: number): number => (toMs - fromMs) / 1000;
/** Core-seconds of a whole pod. Container restarts don't reset them. */
const podSeconds = (pod: PodDraw, nowMs: number): number =>
  pod.containers.reduce((sum, { cores, life }) => sum + cores * seconds(life.startedMs, nowMs), 0);

const nodeSeconds = (draw: Draw, node: NodeDraw, nowMs: number): number =>
  node.systemCores * seconds(-90_000_000, nowMs) +
  podsOn(draw, node).reduce((sum, pod) => sum + podSeconds(pod, nowMs), 0);

const nodeMemory = (draw: Draw, node: NodeDraw): number =>
  node.systemMemoryBytes + podsOn(draw, node).reduce((sum, pod) => sum + memoryOf(pod), 0);

export const ALLOCATABLE = { cores: 128, memoryBytes: 256_000_000_000 };

interface NodeUse {
  readonly cores: number;
  readonly memoryBytes: number;
}

export function nodeUse(draw: Draw, node: NodeDraw): NodeUse {
  const cores = podsOn(draw, node).reduce((sum, pod) => sum + coresOf(pod), node.systemCores);
  return { cores, memoryBytes: nodeMemory(draw, node) };
}

interface Instance {
  readonly id: string;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly readMs: number;
}

/** Containers in cAdvisor's view: the running one and, for a while, its predecessor. */
function instancesOf({ name, cores, memoryBytes, life }: ContainerDraw, nowMs: number): Instance[] {
  const instance = (number: number, fromMs: number, toMs: number): Instance => ({
    id: `${name}-${number}`,
    cpuSeconds: cores * seconds(fromMs, toMs),
    memoryBytes,
    readMs: toMs,
  });
  const restartedMs = life.restartedMs(nowMs);
  if (restartedMs === null) return [instance(0, life.startedMs, nowMs)];
  const ended = nowMs < restartedMs + REMEMBERED_MS ? [instance(0, life.startedMs, restartedMs)] : [];
  return [...ended, instance(1, restartedMs, nowMs)];
}

/** Pods are named by kubelet labels with or without per-core rows, by container labels, or not at all. */
export type CadvisorForm = "total" | "cores" | "standalone" | "without_pods";

function podLabels(form: CadvisorForm, pod: string, container: string): Labels {
  switch (form) {
    case "without_pods":
      return {};
    case "standalone":
      return {
        container_label_io_kubernetes_pod_namespace: NAMESPACE,
        container_label_io_kubernetes_pod_name: pod,
        container_label_io_kubernetes_container_name: container,
      };
    default:
      return { container, namespace: NAMESPACE, pod };
  }
}

/** @param beganMs start of the run */
export function cadvisorRows(
  draw: Draw,
  node: NodeDraw,
  nowMs: number,
  beganMs: number,
  form: CadvisorForm,
): Row[] {
  const rowAgeMs = form === "without_pods" ? 0 : draw.rowAgeMs;
  const at = (readMs: number): Partial<Row> =>
    rowAgeMs === 0 ? {} : { timeMs: Math.round(beganMs + readMs - (readMs === nowMs ? rowAgeMs : 0)) };
  const shownMs = nowMs - rowAgeMs;
  const cpu = (labels: Labels, cpuSeconds: number, readMs: number): Row[] => [
    ...(form === "cores"
      ? CORES.map((core) =>
          counter("container_cpu_usage_seconds_total", { ...labels, cpu: core }, cpuSeconds / 2, at(readMs)),
        )
      : []),
    counter("container_cpu_usage_seconds_total", { ...labels, cpu: "total" }, cpuSeconds, at(readMs)),
  ];
  const memory = (labels: Labels, bytes: number, readMs: number): Row =>
    gauge("container_memory_working_set_bytes", labels, bytes, at(readMs));
  const cgroup = (id: string): Labels => ({ container: "", id, image: "", name: "", namespace: "", pod: "" });
  const network = (direction: string, perSecond: number): Row[] =>
    [
      ["eth0", perSecond],
      ["cni0", perSecond * 3],
      ["vethb1c2", perSecond * 2],
    ].map(([name, rate]) =>
      counter(
        `container_network_${direction}_bytes_total`,
        { ...cgroup("/"), interface: String(name) },
        Math.floor(Number(rate) * seconds(-90_000_000, shownMs)),
        at(nowMs),
      ),
    );
  const root = [
    ...cpu(cgroup("/"), nodeSeconds(draw, node, shownMs), nowMs),
    ...cpu(cgroup("/system.slice"), node.systemCores * seconds(-90_000_000, shownMs), nowMs),
    memory(cgroup("/"), nodeMemory(draw, node), nowMs),
    memory(cgroup("/system.slice"), node.systemMemoryBytes, nowMs),
    ...network("receive", node.receiveBytesPerSecond),
    ...network("transmit", node.transmitBytesPerSecond),
  ];
  const pods = podsOn(draw, node).flatMap((pod) => {
    const id = `/kubepods/burstable/pod${pod.name}`;
    const isByKubelet = form === "total" || form === "cores";
    const whole = { ...cgroup(id), ...(isByKubelet ? podLabels(form, pod.name, "") : {}) };
    const labelsOf = (container: string, own: string, image: string): Labels => ({
      ...cgroup(`${id}/${own}`),
      ...podLabels(form, pod.name, container),
      image,
      name: own,
    });
    const pause = labelsOf(isByKubelet ? "" : "POD", "pause", "pause:1");
    return [
      ...cpu(whole, podSeconds(pod, shownMs), nowMs),
      ...cpu(pause, 0.02, nowMs),
      memory(whole, memoryOf(pod) + 500_000, nowMs),
      memory(pause, 500_000, nowMs),
      ...pod.containers.flatMap((container) =>
        instancesOf(container, shownMs).flatMap(({ id: own, cpuSeconds, memoryBytes, readMs }) => {
          const labels = labelsOf(container.name, own, "app:1");
          const shown = readMs === shownMs ? nowMs : readMs;
          return [...cpu(labels, cpuSeconds, shown), memory(labels, memoryBytes, shown)];
        }),
      ),
    ];
  });
  return [...root, ...pods];
}

/** The kubelet's `/metrics/resource`: running containers, and the node without its network. */
export function resourceRows(draw: Draw, node: NodeDraw, nowMs: number): Row[] {
  const containers = podsOn(draw, node).flatMap((pod) =>
    pod.containers.flatMap(({ name, cores, memoryBytes, life }) => {
      const labels = { container: name, namespace: NAMESPACE, pod: pod.name };
      return [
        counter("container_cpu_usage_seconds_total", labels, cores * seconds(life.bornMs(nowMs), nowMs)),
        gauge("container_memory_working_set_bytes", labels, memoryBytes),
      ];
    }),
  );
  return [
    counter("node_cpu_usage_seconds_total", {}, nodeSeconds(draw, node, nowMs)),
    gauge("node_memory_working_set_bytes", {}, nodeMemory(draw, node)),
    ...containers,
  ];
}

/** Idle time and available memory. Pod usage stays unknown. */
export function nodeExporterRows(draw: Draw, node: NodeDraw, nowMs: number): Row[] {
  const use = nodeUse(draw, node);
  const free = {
    cores: ALLOCATABLE.cores - use.cores,
    memoryBytes: ALLOCATABLE.memoryBytes - use.memoryBytes,
  };
  const idle = (cpu: string, mode: string, cores: number): Row =>
    counter("node_cpu_seconds_total", { cpu, mode }, cores * seconds(-90_000_000, nowMs));
  return [
    idle("0", "idle", free.cores * 0.4),
    idle("1", "idle", free.cores * 0.6),
    idle("0", "user", 1.5),
    gauge("node_memory_MemAvailable_bytes", {}, free.memoryBytes),
  ];
}

/** The kubeletstats receiver: one resource for the node, and one per pod or container. */
export function kubeletstatsRows(
  draw: Draw,
  node: NodeDraw,
  nowMs: number,
  beganMs: number,
  scope: "containers" | "pods",
): { readonly resource: Attributes; readonly rows: Row[] }[] {
  const since = (startMs: number): Partial<Row> => ({ startMs: beganMs + startMs });
  const network = (direction: string, perSecond: number): Row =>
    counter(
      "k8s.node.network.io",
      { interface: "eth0", direction },
      Math.floor(perSecond * seconds(-90_000_000, nowMs)),
      since(-90_000_000),
    );
  const whole = {
    resource: {},
    rows: [
      counter("k8s.node.cpu.time", {}, nodeSeconds(draw, node, nowMs), since(-90_000_000)),
      gauge("k8s.node.memory.working_set", {}, nodeMemory(draw, node)),
      network("receive", node.receiveBytesPerSecond),
      network("transmit", node.transmitBytesPerSecond),
    ],
  };
  const parts = podsOn(draw, node).flatMap((pod) => {
    const named = { "k8s.namespace.name": NAMESPACE, "k8s.pod.name": pod.name };
    if (scope === "pods")
      return [
        {
          resource: named,
          rows: [
            counter("k8s.pod.cpu.time", {}, podSeconds(pod, nowMs), since(-90_000_000)),
            gauge("k8s.pod.memory.working_set", {}, memoryOf(pod)),
          ],
        },
      ];
    return pod.containers.map(({ name, cores, memoryBytes, life }) => {
      const startMs = life.bornMs(nowMs);
      return {
        resource: { ...named, "k8s.container.name": name },
        rows: [
          counter("container.cpu.time", {}, cores * seconds(startMs, nowMs), since(startMs)),
          gauge("container.memory.working_set", {}, memoryBytes),
        ],
      };
    });
  });
  return [whole, ...parts];
}
