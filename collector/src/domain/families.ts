// Which families are kept of each kind of page, and what makes a row worth keeping. Everything else on a page is never decoded.

export type TargetKind = "cadvisor" | "istio";

interface KindRules {
  readonly families: ReadonlySet<string>;
  keep(labels: ReadonlyMap<string, string>): boolean;
}

/** Says when the process of the page began to count; read for start times, not published. */
export const PROCESS_START = "process_start_time_seconds";

const RULES: Readonly<Record<TargetKind, KindRules>> = {
  cadvisor: {
    families: new Set([
      "container_cpu_usage_seconds_total",
      "container_memory_working_set_bytes",
      "machine_cpu_cores",
      "machine_memory_bytes",
    ]),
    // Pods and the root cgroup; a node has dozens of system slices that no graph shows.
    keep: (labels) => !labels.has("id") || labels.get("id") === "/" || (labels.get("pod") ?? "") !== "",
  },
  istio: {
    families: new Set([
      "istio_requests_total",
      "istio_request_bytes",
      "istio_response_bytes",
      "istio_tcp_sent_bytes_total",
      "istio_tcp_received_bytes_total",
    ]),
    keep: () => true,
  },
};

const SUFFIX = /_(bucket|sum|count|created)$/;

/** The family a sample's name belongs to, if the kind of page keeps it: `x_bucket`, `x_sum` and `x_count` belong to `x`. */
export function familyOf(kind: TargetKind, name: string): string | null {
  const { families } = RULES[kind];
  if (families.has(name)) return name;
  const base = name.replace(SUFFIX, "");
  return families.has(base) ? base : null;
}

export function keepsRow(kind: TargetKind, labels: ReadonlyMap<string, string>): boolean {
  return RULES[kind].keep(labels);
}
