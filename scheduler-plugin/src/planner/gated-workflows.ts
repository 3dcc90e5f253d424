// Pods that wait for the planner and for nobody else, by workflow, and when each workflow's turn is.
import { keyOf } from "@isochrone/kubernetes";
import type { KubernetesObject } from "@isochrone/kubernetes";
import type { WorkflowGraph } from "@isochrone/topology";
import { identifyPod } from "../domain/pod.ts";
import type { PodIdentity } from "../domain/pod.ts";

/** A pod that may be planned. */
export interface GatedPod {
  /** namespace/name */
  readonly key: string;
  readonly identity: PodIdentity;
  /** As it was seen last. */
  readonly object: KubernetesObject;
  /** Since when it waits for nobody but us, as far as was seen here; monotonic milliseconds. */
  readonly sinceMs: number;
}

/** The gated pods of one workflow. */
export interface GatedWorkflow {
  /** namespace/workflow */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  /** When the first of the pods that wait was seen; monotonic milliseconds. */
  readonly firstMs: number;
  readonly pods: readonly GatedPod[];
}

/** Returns the pod's workload as the graph names it; null if the graph has none of its workloads. */
export function workloadOf({ identity }: GatedPod, graph: WorkflowGraph): string | null {
  return identity.workloads.find((name) => graph.workload(name) !== undefined) ?? null;
}

/** A workflow can be searched early when no pod has come for so long. */
const EARLY_MS = 20;

interface Settling {
  /** A workflow is due when no pod has come for so long, */
  readonly settleMs: number;
  /** and when its first pod has waited for so long. */
  readonly maxSettleMs: number;
}

/** A workflow that more pods may still come to. */
export interface SettlingWorkflow extends GatedWorkflow {
  /** When its turn is; monotonic milliseconds. */
  readonly dueMs: number;
}

interface Waiting {
  readonly pods: Map<string, GatedPod>;
  lastMs: number;
  /** Put off until then: its last attempt asked for it. */
  notBeforeMs: number;
  /** When it had its last turn: who has waited longest for one is first. */
  turnMs: number;
  /** Since its last pod came. */
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

  /** Those of a workflow. @param workflow namespace/workflow */
  of(workflow: string): readonly GatedPod[] {
    return [...(this.#workflows.get(workflow)?.pods.values() ?? [])];
  }

  /** A pod of the same name but another uid is another pod. Times are monotonic milliseconds. */
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

  /** A pod that could not be released: it goes on waiting. */
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

  /**
   * The workflow that is due and had its last turn longest ago; this is its turn now. Null when none is due.
   */
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

  /** A workflow of several pods that is quiet, but not due; each once until another pod comes. */
  takeEarly(nowMs: number): SettlingWorkflow | null {
    for (const [key, waiting] of this.#workflows) {
      const dueMs = this.#dueMs(waiting);
      if (dueMs <= nowMs || this.#earlyMs(waiting) > nowMs) continue;
      waiting.wasEarly = true;
      return { ...workflowOf(key, waiting), dueMs };
    }
    return null;
  }

  /** When the next workflow can be searched early; Infinity without any. */
  nextEarlyMs(): number {
    let next = Infinity;
    for (const waiting of this.#workflows.values()) next = Math.min(next, this.#earlyMs(waiting));
    return next;
  }

  /** The workflow's next turn isn't before `untilMs`. */
  putOff(workflow: string, untilMs: number): void {
    const waiting = this.#workflows.get(workflow);
    if (waiting !== undefined) waiting.notBeforeMs = untilMs;
  }

  /** When the next workflow is due; Infinity without any. */
  nextDueMs(): number {
    let next = Infinity;
    for (const waiting of this.#workflows.values()) next = Math.min(next, this.#dueMs(waiting));
    return next;
  }

  /** Pods that wait since `thenMs` or longer, of workflows that are not put off. */
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

/** Pods are in the order in which they came. */
function firstOf({ pods }: Waiting): number {
  for (const { sinceMs } of pods.values()) return sinceMs;
  return Infinity;
}
