import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import { NAME_A_SERVER, skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";

interface SourceFacts {
  readonly cluster: ClusterGraphSnapshot | null;
  readonly workflows: readonly WorkflowGraphSnapshot[];
  readonly ambiguousNames: number | null;
  readonly why: string;
  /** A collector's /metrics; null: none named. */
  readonly collector: {
    readonly url: string;
    readonly text: string | null;
    readonly error: string | null;
  } | null;
}

const REMEDY_FAILING =
  "Look at isochrone_collector_targets_failing and isochrone_collector_scrape_failures_total of the collectors (docs/collecting.md): rights on nodes/metrics, the kubelet's certificate, the port.";
const REMEDY_UNKNOWN =
  "Name a collector by --collector: its isochrone_collector_targets_failing and ..._targets_incomplete say whether pages fail or lack pods; if neither, see isochrone_aggregator_unused_total by reason (docs/collecting.md).";
const REMEDY_INCOMPLETE =
  "The kubelet answers without the usage of all pods, and so may its /metrics/resource: the collector's log says what is missing. Look at the container runtime's statistics on the node (docs/collecting.md).";
const REMEDY_UNUSED =
  "No target of the collector fails: look at isochrone_aggregator_unused_total and isochrone_aggregator_refused_total by reason, and at what the rows name as namespace and pod (docs/collecting.md).";
const REMEDY_TRAFFIC =
  "See that a mesh's, an agent's or the service graph's pages are read, or connections are counted (docs/traffic-sources.md), and that the workflow has traffic.";
/** Keyed by state of isochrone_collector_connections_state. */
const REMEDY_CONNECTIONS: ReadonlyMap<string, string> = new Map([
  ["refused", "Give the pod the node's network and NET_ADMIN; the kernel needs nf_conntrack_netlink."],
  [
    "accounting_off",
    "Set net.netfilter.nf_conntrack_acct=1 on the node; connections from before stay uncounted.",
  ],
  ["ends_unreported", "Set net.netfilter.nf_conntrack_events=1 on the node."],
  ["bypassed", "The CNI passes connection tracking by: use another source (docs/traffic-sources.md)."],
  ["table_full", "Raise net.netfilter.nf_conntrack_max on the node."],
  ["overflowed", "Give the pod more CPU: connections end faster than it reads."],
]);

const TO_BELIEVE =
  "See who is believed (docs/collecting.md); name a page in podTargets or staticTargets if it may tell of others.";
const TO_SHRINK = "The page has more or longer series than a pod may have: drop labels where it is made.";
/** Remedies keyed by a collector's reason for skipping usable rows or series. */
const REMEDY_ROWS: ReadonlyMap<string, string> = new Map([
  ["not_an_end", TO_BELIEVE],
  ["name", TO_BELIEVE],
  ["principal", TO_BELIEVE],
  ["not_trusted", "Name the pods that may tell of others in collector.prometheusTrustedPods."],
  ["no_target", "Have Prometheus give each target the labels namespace and pod."],
  ["no_node", "Have Prometheus give node_exporter's targets a label node."],
  ["too_large", TO_SHRINK],
  ["too_many", TO_SHRINK],
  ["repeated", "The page has rows twice: see which exporters write it."],
  ["malformed", "Read the collector's log: it quotes the first line that can't be read."],
  ["left_out", "More series than are followed: narrow collector.prometheusMatchers."],
]);
const SHOWN_REASONS = 3;

export function judgeSources({ cluster, workflows, ambiguousNames, why, collector }: SourceFacts): Verdict[] {
  const remedy = usageRemedy(collector?.text ?? null);
  return [
    nodesVerdict(cluster, why, remedy),
    ...trafficVerdicts(cluster === null ? null : workflows, why, remedy),
    ...(ambiguousNames === null ? [] : [namesVerdict(ambiguousNames)]),
    ...collectorVerdicts(collector),
  ];
}

function namesVerdict(ambiguousNames: number): Verdict {
  return verdict(ambiguousNames === 0, "warning", {
    check: "names of workloads",
    looked: "sizes.ambiguousNames of GET /api/v1/health",
    rule: "each name that a traffic source gives means one workload",
    value: ambiguousNames === 0 ? "each means one" : `${ambiguousNames} mean several`,
    remedy:
      "The aggregator's log names them: give the workloads labels of their own, or the source their owners' names (docs/collecting.md#names-of-workloads).",
  });
}

function usageRemedy(page: string | null): string {
  const above0 = (name: string): boolean =>
    page !== null && samplesOf(page, `isochrone_collector_targets_${name}`).some(({ value }) => value > 0);
  if (above0("failing")) return REMEDY_FAILING;
  if (!above0("up")) return REMEDY_UNKNOWN;
  return above0("incomplete") ? REMEDY_INCOMPLETE : REMEDY_UNUSED;
}

function nodesVerdict(cluster: ClusterGraphSnapshot | null, why: string, remedy: string): Verdict {
  const parts = {
    check: "usage of nodes",
    looked: "availableCpuMillicores of the cluster graph's nodes: kubelets and cAdvisor answer",
    rule: "known of every ready node",
    remedy,
  };
  if (cluster === null) return skipped({ ...parts, why, remedy: NAME_A_SERVER });
  const ready = cluster.nodes.filter((node) => node.ready);
  const known = ready.filter(({ availableCpuMillicores }) => availableCpuMillicores !== null);
  return verdict(known.length === ready.length, "warning", {
    ...parts,
    value: `${known.length} of ${ready.length} nodes`,
  });
}

function trafficVerdicts(
  workflows: readonly WorkflowGraphSnapshot[] | null,
  why: string,
  remedyOfUsage: string,
): Verdict[] {
  const usage = {
    check: "usage of workloads",
    looked: "cpuMillicores of the workflows' workloads",
    rule: "known of every workload with pods",
    remedy: remedyOfUsage,
  };
  const traffic = {
    check: "traffic",
    looked: "channels of the workflows: a mesh, an agent, the service graph or Hubble answers",
    rule: "each workflow has a channel with traffic",
    remedy: REMEDY_TRAFFIC,
  };
  if (workflows === null)
    return [
      skipped({ ...usage, why, remedy: NAME_A_SERVER }),
      skipped({ ...traffic, why, remedy: NAME_A_SERVER }),
    ];
  if (workflows.length === 0) {
    const none = "there is no workflow";
    const remedy = "Label pods with isochrone.dev/workflow, or make an AppGroup (docs/appgroup.md).";
    return [skipped({ ...usage, why: none, remedy }), skipped({ ...traffic, why: none, remedy })];
  }
  const workloads = workflows
    .flatMap((workflow) => workflow.workloads)
    .filter(({ pods }) => pods.some(({ node }) => node !== null));
  const known = workloads.filter(({ cpuMillicores }) => cpuMillicores !== null);
  const quiet = workflows.filter(
    ({ channels, outside = [] }) =>
      outside.length === 0 &&
      !channels.some(
        ({ bytesPerSecond, requestsPerSecond }) => (bytesPerSecond ?? 0) > 0 || (requestsPerSecond ?? 0) > 0,
      ),
  );
  return [
    verdict(known.length === workloads.length, "warning", {
      ...usage,
      value: `${known.length} of ${workloads.length} workloads`,
    }),
    verdict(quiet.length === 0, "warning", {
      ...traffic,
      value:
        quiet.length === 0
          ? `${workflows.length} workflows`
          : `none in ${quiet
              .slice(0, 5)
              .map(({ namespace, name }) => `${namespace}/${name}`)
              .join(", ")}`,
    }),
  ];
}

function collectorVerdicts(collector: SourceFacts["collector"]): Verdict[] {
  const parts = {
    check: "collector",
    looked: collector === null ? "a collector's /metrics" : collector.url,
    rule: "no target fails, and certificates are verified",
    remedy: REMEDY_FAILING,
  };
  if (collector === null)
    return [
      skipped({
        ...parts,
        why: "no collector is named: the aggregator doesn't show their state",
        remedy:
          "Name one by --collector http://HOST:PORT, e.g. after `kubectl -n isochrone port-forward daemonset/isochrone-collector 9102`.",
      }),
    ];
  const { text, error } = collector;
  if (text === null) return [verdict(false, "error", { ...parts, value: error ?? "no answer" })];
  const [state] = samplesOf(text, "isochrone_collector_connections_state").filter(({ value }) => value > 0);
  if (state !== undefined) return [connectionsVerdict(parts, /state="(\w+)"/.exec(state.labels)?.[1] ?? "")];
  const failing = samplesOf(text, "isochrone_collector_targets_failing").filter(({ value }) => value > 0);
  const up = samplesOf(text, "isochrone_collector_targets_up").reduce((sum, { value }) => sum + value, 0);
  const rows = rowsVerdict(parts, text);
  const unverified = samplesOf(
    text,
    "isochrone_collector_tls_unverified",
    "isochrone_collector_prometheus_tls_unverified",
  );
  return [
    verdict(failing.length === 0 && up > 0, "error", {
      ...parts,
      check: "collector's targets",
      value:
        failing.length === 0
          ? `${up} targets answer`
          : `failing: ${failing.map(({ labels, value }) => `${labels === "" ? "targets" : labels} ${value}`).join(", ")}`,
    }),
    rows,
    ...incompleteVerdict(parts, text),
    verdict(!unverified.some(({ value }) => value > 0), "warning", {
      ...parts,
      check: "collector's TLS",
      value: unverified.some(({ value }) => value > 0) ? "unverified" : "verified, or not used",
      remedy:
        "Set collector.kubeletCaFile in place of collector.kubeletInsecureSkipVerify (docs/collecting.md).",
    }),
  ];
}

function rowsVerdict(parts: { readonly looked: string }, text: string): Verdict {
  const byReason = new Map<string, number>();
  const add = (reason: string, count: number): void => {
    if (count > 0 && REMEDY_ROWS.has(reason)) byReason.set(reason, (byReason.get(reason) ?? 0) + count);
  };
  const reasons = [
    "isochrone_collector_rows_refused_total",
    "isochrone_collector_rows_unused_total",
    "isochrone_collector_prometheus_series_refused_total",
  ];
  for (const { labels, value } of samplesOf(text, ...reasons))
    add(/reason="(\w+)"/.exec(labels)?.[1] ?? "", value);
  for (const { value } of samplesOf(
    text,
    "isochrone_collector_malformed_lines_total",
    "isochrone_collector_prometheus_unreadable_total",
  ))
    add("malformed", value);
  for (const { value } of samplesOf(text, "isochrone_collector_prometheus_series_left_out_total"))
    add("left_out", value);
  const shown = [...byReason].sort(([, a], [, b]) => b - a).slice(0, SHOWN_REASONS);
  return verdict(shown.length === 0, "warning", {
    looked: parts.looked,
    check: "collector's rows",
    rule: "each row that graphs need is taken",
    value:
      shown.length === 0
        ? "all"
        : `left out since the start: ${shown.map(([reason, count]) => `${reason} ${count}`).join(", ")}`,
    remedy: [...new Set(shown.map(([reason]) => REMEDY_ROWS.get(reason)))].join(" "),
  });
}

/** Empty if every page covers the usage of all pods. */
function incompleteVerdict(parts: { readonly looked: string }, text: string): Verdict[] {
  const incomplete = samplesOf(text, "isochrone_collector_targets_incomplete").filter(
    ({ value }) => value > 0,
  );
  if (incomplete.length === 0) return [];
  return [
    verdict(false, "info", {
      looked: parts.looked,
      check: "collector's pages",
      rule: "each page of a kubelet tells the usage of all pods",
      value: `incomplete: ${incomplete.map(({ labels, value }) => `${labels} ${value}`).join(", ")}`,
      remedy: REMEDY_INCOMPLETE,
    }),
  ];
}

/** For a collector in mode `connections`, which has no targets. */
function connectionsVerdict(parts: { readonly looked: string }, state: string): Verdict {
  return verdict(state === "ok", "error", {
    looked: parts.looked,
    check: "connections",
    rule: "the kernel counts the bytes of all connections",
    value: state,
    remedy: REMEDY_CONNECTIONS.get(state) ?? "See docs/traffic-sources.md.",
  });
}

export function samplesOf(text: string, ...names: readonly string[]): { labels: string; value: number }[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = /^([a-zA-Z_:]+)(?:\{([^}]*)\})? (\S+)/.exec(line) ?? [];
    return name !== undefined && names.includes(name) ? [{ labels, value: Number(value) }] : [];
  });
}
