// Pods that wait only for the planner, by workflow, with each workflow's turn.
import { keyOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { WorkflowGraph } from "@isochrone/topology";
import { identifyPod } from "../domain/pod.ts";
import type { PodIdentity } from "../domain/pod.ts";

export interface GatedPod {
  readonly key: string;
  readonly identity: PodIdentity;
  readonly object: KubernetesObject;
  /** Since when it waits only for us, monotonic. */
  readonly sinceMs: number;
}

export interface GatedWorkflow {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  /** Arrival of the first waiting pod, monotonic. */
  readonly firstMs: number;
  readonly pods: readonly GatedPod[];
}

export function workloadOf({ identity }: GatedPod, graph: WorkflowGraph): string | null {
  return identity.workloads.find((name) => graph.workload(name) !== undefined) ?? null;
}

const EARLY_MS = 20;

interface Settling {
  /** Quiet time after which a workflow is due. */
  readonly settleMs: number;
  /** A workflow is also due when its first pod has waited this long. */
  readonly maxSettleMs: number;
}

export interface SettlingWorkflow extends GatedWorkflow {
  readonly dueMs: number;
}

interface Waiting {
  readonly pods: Map<string, GatedPod>;
  lastMs: number;
  notBeforeMs: number;
  /** Time of its last turn: the longest wait goes first. */
  turnMs: number;
  wasEarly: boolean;
}

export class GatedWorkflows {
  readonly #settling: Settling;
  readonly #workflows = new Map<string, Waiting>();
  readonly #workflowOf = new Map<string, string>();

  constructor(settling: Settling) {
    this.#settling = settling;
  }

  get pods(): number {
    return this.#workflowOf.size;
  }

  has(podKey: string): boolean {
    return this.#workflowOf.has(podKey);
  }

  of(workflow: string): readonly GatedPod[] {
    return [...(this.#workflows.get(workflow)?.pods.values() ?? [])];
  }

  /** The same name with another UID is another pod. Times are monotonic. */
  put(object: KubernetesObject, nowMs: number): void {
    const key = keyOf(object);
    const identity = identifyPod(object);
    const workflow = `${identity.namespace}/${identity.workflow}`;
    const known = this.#find(key);
    const isSame = known !== null && known.object.metadata.uid === object.metadata.uid;
    if (known !== null && (!isSame || this.#workflowOf.get(key) !== workflow)) this.remove(key);
    const waiting = this.#workflows.get(workflow) ?? newWaiting(nowMs);
    this.#workflows.set(workflow, waiting);
    this.#workflowOf.set(key, workflow);
    waiting.pods.set(key, { key, identity, object, sinceMs: isSame ? known.sinceMs : nowMs });
    if (isSame) return;
    waiting.lastMs = nowMs;
    waiting.wasEarly = false;
  }

  putAgain(pod: GatedPod, nowMs: number): void {
    this.put(pod.object, nowMs);
    const workflow = this.#workflowOf.get(pod.key)!;
    this.#workflows.get(workflow)!.pods.set(pod.key, pod);
  }

  remove(podKey: string): void {
    const workflow = this.#workflowOf.get(podKey);
    if (workflow === undefined) return;
    this.#workflowOf.delete(podKey);
    const waiting = this.#workflows.get(workflow)!;
    waiting.pods.delete(podKey);
    if (waiting.pods.size === 0) this.#workflows.delete(workflow);
  }

  /** Returns the due workflow with the oldest turn, and starts its turn. Null if none is due. */
  take(nowMs: number): GatedWorkflow | null {
    let next: [string, Waiting] | null = null;
    for (const entry of this.#workflows) {
      if (this.#dueMs(entry[1]) > nowMs) continue;
      if (next === null || entry[1].turnMs < next[1].turnMs) next = entry;
    }
    if (next === null) return null;
    const [key, waiting] = next;
    waiting.turnMs = nowMs;
    return workflowOf(key, waiting);
  }

  /** Returns a quiet workflow of several pods that isn't due; once until another pod comes. */
  takeEarly(nowMs: number): SettlingWorkflow | null {
    for (const [key, waiting] of this.#workflows) {
      const dueMs = this.#dueMs(waiting);
      if (dueMs <= nowMs || this.#earlyMs(waiting) > nowMs) continue;
      waiting.wasEarly = true;
      return { ...workflowOf(key, waiting), dueMs };
    }
    return null;
  }

  nextEarlyMs(): number {
    let next = Infinity;
    for (const waiting of this.#workflows.values()) next = Math.min(next, this.#earlyMs(waiting));
    return next;
  }

  putOff(workflow: string, untilMs: number): void {
    const waiting = this.#workflows.get(workflow);
    if (waiting !== undefined) waiting.notBeforeMs = untilMs;
  }

  nextDueMs(): number {
    let next = Infinity;
    for (const waiting of this.#workflows.values()) next = Math.min(next, this.#dueMs(waiting));
    return next;
  }

  /** Pods waiting at least since `thenMs`, of workflows that aren't postponed. */
  waitingSince(thenMs: number, nowMs: number): GatedPod[] {
    const found: GatedPod[] = [];
    for (const { pods, notBeforeMs } of this.#workflows.values()) {
      if (notBeforeMs > nowMs) continue;
      for (const pod of pods.values()) if (pod.sinceMs <= thenMs) found.push(pod);
    }
    return found;
  }

  #find(podKey: string): GatedPod | null {
    const workflow = this.#workflowOf.get(podKey);
    return workflow === undefined ? null : this.#workflows.get(workflow)!.pods.get(podKey)!;
  }

  #dueMs(waiting: Waiting): number {
    const { settleMs, maxSettleMs } = this.#settling;
    const settledMs = Math.min(waiting.lastMs + settleMs, firstOf(waiting) + maxSettleMs);
    return Math.max(settledMs, waiting.notBeforeMs);
  }

  #earlyMs({ pods, lastMs, notBeforeMs, wasEarly }: Waiting): number {
    return wasEarly || pods.size < 2 ? Infinity : Math.max(lastMs + EARLY_MS, notBeforeMs);
  }
}

function newWaiting(nowMs: number): Waiting {
  return { pods: new Map(), lastMs: nowMs, notBeforeMs: -Infinity, turnMs: nowMs, wasEarly: false };
}

function workflowOf(key: string, waiting: Waiting): GatedWorkflow {
  const slash = key.indexOf("/");
  return {
    key,
    namespace: key.slice(0, slash),
    name: key.slice(slash + 1),
    firstMs: firstOf(waiting),
    pods: [...waiting.pods.values()],
  };
}

function firstOf({ pods }: Waiting): number {
  for (const { sinceMs } of pods.values()) return sinceMs;
  return Infinity;
}
