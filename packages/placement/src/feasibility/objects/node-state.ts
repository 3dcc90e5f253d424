import { exactAmounts, exactQuantity, wholeUnits, type Amounts } from "./amounts.ts";
import { conflicts, type HostPort } from "./host-ports.ts";
import type { NodeSpec, NodeStatus } from "./fields.ts";
import { isTerminating, labelsOf, record, records, type ApiObject, type Labels } from "./json.ts";
import type { SchedulingPod } from "./scheduling-pod.ts";
import { taintsOf, type Taint } from "./taints.ts";

const NONE: Amounts = new Map();

export class NodeState {
  readonly index: number;
  readonly name: string;
  readonly labels: Labels;
  readonly taints: readonly Taint[];
  readonly unschedulable: boolean;
  readonly allocatable: Amounts;
  readonly maxPods: number;
  /** Whether its kubelet reports, whatever else speaks against the node. */
  readonly isReady: boolean;
  /** Why it is no target for a plan although a pod may be let in; null when it is one. */
  readonly noTarget: string | null;
  readonly pods = new Map<string, SchedulingPod>();
  readonly #nominated = new Map<string, SchedulingPod>();
  #version = 0;
  readonly #used = new Map<string, number>();
  readonly #ports: HostPort[] = [];

  constructor(node: ApiObject, index: number) {
    const spec = record<NodeSpec>(node.spec);
    const allocatable = record(record<NodeStatus>(node.status).allocatable);
    this.index = index;
    this.name = node.metadata.name;
    this.labels = labelsOf(node);
    this.taints = taintsOf(spec);
    this.unschedulable = spec.unschedulable === true;
    this.allocatable = wholeUnits(exactAmounts(allocatable));
    this.maxPods = Number((exactQuantity(allocatable.pods) ?? 0n) / 1_000_000_000n);
    const ready = records(record<NodeStatus>(node.status).conditions).find(({ type }) => type === "Ready");
    this.isReady = ready?.status === "True";
    this.noTarget = reasonAgainst(node, this);
  }

  get nominated(): ReadonlyMap<string, SchedulingPod> {
    return this.#nominated;
  }

  /** Changes whenever pods or nominations change. */
  get version(): number {
    return this.#version;
  }

  promise(pod: SchedulingPod): void {
    this.#nominated.set(pod.key, pod);
    this.#version++;
  }

  withdraw(podKey: string): void {
    if (this.#nominated.delete(podKey)) this.#version++;
  }

  add(pod: SchedulingPod): void {
    this.pods.set(pod.key, pod);
    this.#count(pod, 1);
    this.#ports.push(...pod.ports);
  }

  delete(pod: SchedulingPod): void {
    this.pods.delete(pod.key);
    this.#count(pod, -1);
    for (const port of pod.ports) this.#ports.splice(this.#ports.indexOf(port), 1);
  }

  used(resource: string): number {
    return this.#used.get(resource) ?? 0;
  }

  hasTaken(ports: readonly HostPort[], others: readonly SchedulingPod[]): boolean {
    return ports.some(
      (port) =>
        this.#ports.some((taken) => conflicts(port, taken)) ||
        others.some((other) => other.ports.some((taken) => conflicts(port, taken))),
    );
  }

  /** Returns kube-scheduler's messages for missing resources, with `others` on the node. */
  missing(requests: Amounts, others: readonly SchedulingPod[]): string[] {
    const missing: string[] = [];
    if (this.pods.size + others.length + 1 > this.maxPods) missing.push("Too many pods");
    for (const [resource, amount] of requests) {
      if (amount <= 0) continue;
      let used = this.used(resource);
      for (const other of others) used += other.requests.get(resource) ?? 0;
      if (amount > (this.allocatable.get(resource) ?? 0) - used) missing.push(`Insufficient ${resource}`);
    }
    return missing;
  }

  #count(pod: SchedulingPod, sign: 1 | -1): void {
    this.#version++;
    for (const [resource, amount] of pod.requests ?? NONE)
      this.#used.set(resource, this.used(resource) + sign * amount);
  }
}

/** Taints of a node about to be removed. Pods that tolerate everything would still go there. */
const LEAVING = ["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption"];

function reasonAgainst(node: ApiObject, state: NodeState): string | null {
  if (isTerminating(node)) return "it is being deleted";
  if (state.unschedulable) return "it is cordoned";
  const leaving = state.taints.find(({ key }) => LEAVING.includes(key));
  if (leaving !== undefined) return `it is about to be removed (taint ${leaving.key})`;
  return state.isReady ? null : "it is not Ready";
}
