import type {
  ReadWorkloadAnnotations,
  WorkflowGraphSnapshot,
  Workload,
  WorkloadFigures,
} from "@isochrone/topology";
import { fullName, type NamespacedName } from "../../domain/cluster-state.ts";
import { compareText } from "../../domain/compare.ts";
import { changeOf, exceeds, UNWANTED, WORKLOAD_THRESHOLDS } from "./change.ts";

/** Maximum number of annotated peers per workload; those with the most traffic. */
const MAX_PEERS = 20;

const KINDS: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "DaemonSet"]);

export interface WantedWorkload extends NamespacedName {
  readonly kind: string;
  readonly figures: WorkloadFigures;
}

/** Keys: `namespace/name`. A channel in two workflows counts once. */
export function wantedWorkloads(workflows: Iterable<WorkflowGraphSnapshot>): Map<string, WantedWorkload> {
  const found = new Map<string, Workload & { readonly fullName: string }>();
  const traffic = new Map<string, Map<string, Peer>>();
  const seen = new Set<string>();
  for (const workflow of workflows) {
    const byLabel = new Map(workflow.workloads.map((workload) => [workload.name, idOf(workload)]));
    for (const workload of workflow.workloads)
      found.set(fullName(idOf(workload)), { ...workload, fullName: fullName(idOf(workload)) });
    for (const { source, target, bytesPerSecond } of workflow.channels) {
      const from = byLabel.get(source);
      const to = byLabel.get(target);
      if (from === undefined || to === undefined || bytesPerSecond === null || !(bytesPerSecond > 0))
        continue;
      const pair = `${fullName(from)}\n${fullName(to)}`;
      if (seen.has(pair) || fullName(from) === fullName(to)) continue;
      seen.add(pair);
      addTraffic(traffic, from, { ...to, bytesPerSecond, isCalled: true });
      addTraffic(traffic, to, { ...from, bytesPerSecond, isCalled: false });
    }
  }
  const wanted = new Map<string, WantedWorkload>();
  for (const [key, workload] of found) {
    if (!KINDS.has(workload.kind)) continue;
    const { namespace, name } = idOf(workload);
    const peers = [...(traffic.get(key)?.values() ?? [])].sort(
      (a, b) => b.bytesPerSecond - a.bytesPerSecond || compareText(fullName(a), fullName(b)),
    );
    const { cpuMillicores, memoryBytes, kind } = workload;
    const figures = { namespace, cpuMillicores, memoryBytes, traffic: peers.slice(0, MAX_PEERS) };
    wanted.set(key, { namespace, name, kind, figures });
  }
  return wanted;
}

/** A workload of another namespace may be labelled `namespace/name` in a workflow graph. */
function idOf({ namespace, name }: Workload): NamespacedName {
  return { namespace, name: name.startsWith(`${namespace}/`) ? name.slice(namespace.length + 1) : name };
}

type Peer = WorkloadFigures["traffic"][number];

function addTraffic(
  traffic: Map<string, Map<string, Peer>>,
  workload: NamespacedName,
  { namespace, name, bytesPerSecond, isCalled }: Peer,
): void {
  const peers = traffic.get(fullName(workload)) ?? new Map<string, Peer>();
  traffic.set(fullName(workload), peers);
  const key = fullName({ namespace, name });
  const before = peers.get(key);
  peers.set(key, {
    namespace,
    name,
    bytesPerSecond: (before?.bytesPerSecond ?? 0) + bytesPerSecond,
    isCalled: isCalled || before?.isCalled === true,
  });
}

/** Change of a workload's annotations in thresholds. An unwritten peer counts as one without traffic. */
export function workloadChange(written: ReadWorkloadAnnotations, wanted: WorkloadFigures): number {
  const before = new Map(
    written.traffic.map((peer) => [
      fullName({ namespace: peer.namespace ?? wanted.namespace, name: peer.name }),
      peer,
    ]),
  );
  let change = Math.max(
    changeOf(written.cpuMillicores, wanted.cpuMillicores, WORKLOAD_THRESHOLDS.cpuMillicores),
    changeOf(written.memoryBytes, wanted.memoryBytes, WORKLOAD_THRESHOLDS.memoryBytes),
    written.faults.length > 0 ? UNWANTED : 0,
  );
  for (const peer of wanted.traffic) {
    const known = before.get(fullName(peer));
    const rate = known?.bytesPerSecond ?? 0;
    const moved = Math.abs(peer.bytesPerSecond - rate);
    change = Math.max(change, exceeds(moved, rate, WORKLOAD_THRESHOLDS.bytesPerSecond));
    // The direction of calls has no tolerance.
    if (known !== undefined && known.isCalled !== peer.isCalled) change = Math.max(change, 1);
  }
  return change;
}
