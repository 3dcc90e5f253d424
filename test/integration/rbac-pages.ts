// Pages for the permission tests. Values vary, so that there is always something to write.

export function usagePage(workloads: readonly string[], namespace: string, beganMs: number): string {
  const seconds = (Date.now() - beganMs) / 1000;
  const rows = workloads.flatMap((name, index) => {
    const labels = `container="main",id="/kubepods/pod${name}/main",image="none",name="${name}",namespace="${namespace}",pod="${name}-0"`;
    const cpu = (1 + index) * 0.1 * (seconds + 2 * Math.sin(seconds / 2));
    const memory = Math.round(1e8 * (1.5 + Math.sin(seconds / 3)));
    return [
      `container_cpu_usage_seconds_total{${labels},cpu="total"} ${cpu.toFixed(6)}`,
      `container_memory_working_set_bytes{${labels}} ${memory}`,
    ];
  });
  return [
    "# TYPE container_cpu_usage_seconds_total counter",
    "# TYPE container_memory_working_set_bytes gauge",
    ...rows,
    "",
  ].join("\n");
}

export function trafficPage(namespace: string, beganMs: number): string {
  const labels = `reporter="source",source_workload="web",source_workload_namespace="${namespace}",destination_workload="db",destination_workload_namespace="${namespace}",request_protocol="tcp"`;
  const bytes = Math.round((Date.now() - beganMs) * 100);
  return `# TYPE istio_tcp_sent_bytes_total counter\nistio_tcp_sent_bytes_total{${labels}} ${bytes}\n`;
}
