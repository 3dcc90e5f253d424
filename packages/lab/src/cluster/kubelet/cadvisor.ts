export interface ContainerUsage {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
  readonly containerId: string;
  readonly image: string;
  readonly startedAtMs: number;
  readonly timeMs: number;
  readonly cpuSeconds: number;
  /** Including earlier containers of the pod, which its cgroup outlives. */
  readonly podCpuSeconds: number;
  readonly memoryBytes: number;
}

interface NodeUsage {
  readonly startedAtMs: number;
  readonly nowMs: number;
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
  readonly endedCpuSeconds: number;
  readonly containers: readonly ContainerUsage[];
}

interface Row {
  readonly container: string;
  readonly id: string;
  readonly image: string;
  readonly name: string;
  readonly namespace: string;
  readonly pod: string;
  readonly startedAtMs: number;
  readonly timeMs: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

/** Text format 0.0.4, with a timestamp on each container sample. */
export function renderCadvisor(node: NodeUsage): string {
  const rows = [rootRow(node), ...node.containers.flatMap((usage) => [podRow(usage), containerRow(usage)])];
  const lines = [
    "# HELP container_cpu_usage_seconds_total Cumulative cpu time consumed in seconds.",
    "# TYPE container_cpu_usage_seconds_total counter",
    ...rows.map(
      (row) => `container_cpu_usage_seconds_total{${labels(row, true)}} ${row.cpuSeconds} ${row.timeMs}`,
    ),
    "# HELP container_memory_working_set_bytes Current working set in bytes.",
    "# TYPE container_memory_working_set_bytes gauge",
    ...rows.map(
      (row) => `container_memory_working_set_bytes{${labels(row)}} ${row.memoryBytes} ${row.timeMs}`,
    ),
    "# HELP container_start_time_seconds Start time of the container since unix epoch in seconds.",
    "# TYPE container_start_time_seconds gauge",
    ...rows.map(
      (row) => `container_start_time_seconds{${labels(row)}} ${row.startedAtMs / 1000} ${row.timeMs}`,
    ),
    "# HELP machine_cpu_cores Number of logical CPU cores.",
    "# TYPE machine_cpu_cores gauge",
    `machine_cpu_cores{boot_id="",machine_id="",system_uuid=""} ${node.cpuMillicores / 1000}`,
    "# HELP machine_memory_bytes Amount of memory installed on the machine.",
    "# TYPE machine_memory_bytes gauge",
    `machine_memory_bytes{boot_id="",machine_id="",system_uuid=""} ${node.memoryBytes}`,
  ];
  return `${lines.join("\n")}\n`;
}

function rootRow(node: NodeUsage): Row {
  let cpuSeconds = node.endedCpuSeconds;
  let memoryBytes = 0;
  for (const usage of node.containers) {
    cpuSeconds += usage.podCpuSeconds;
    memoryBytes += usage.memoryBytes;
  }
  const { startedAtMs, nowMs } = node;
  return {
    container: "",
    id: "/",
    image: "",
    name: "",
    namespace: "",
    pod: "",
    startedAtMs,
    timeMs: nowMs,
    cpuSeconds,
    memoryBytes,
  };
}

function podRow(usage: ContainerUsage): Row {
  const { namespace, pod, startedAtMs, timeMs, podCpuSeconds: cpuSeconds, memoryBytes } = usage;
  return {
    container: "",
    id: podGroup(usage.uid),
    image: "",
    name: "",
    namespace,
    pod,
    startedAtMs,
    timeMs,
    cpuSeconds,
    memoryBytes,
  };
}

function containerRow(usage: ContainerUsage): Row {
  const id = `${podGroup(usage.uid)}/cri-containerd-${usage.containerId}.scope`;
  return { ...usage, id, name: usage.containerId };
}

function podGroup(uid: string): string {
  return `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${uid.replaceAll("-", "_")}.slice`;
}

function labels(row: Row, cpu = false): string {
  const total = cpu ? `cpu="total",` : "";
  return `container="${row.container}",${total}id="${row.id}",image="${row.image}",name="${row.name}",namespace="${row.namespace}",pod="${row.pod}"`;
}
