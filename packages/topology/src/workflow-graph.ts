import type { Channel, Workload, WorkflowGraphSnapshot } from "./schema.ts";
import { parseWorkflowGraph } from "./validation.ts";

const NONE: readonly never[] = [];

/** A pod of a workflow and the workload that it is a replica of. */
export interface PodOfWorkload {
  readonly workload: string;
  readonly name: string;
}

/** Workloads and what they say to each other: an immutable view of one snapshot. */
export class WorkflowGraph {
  readonly version: number;
  /** When the snapshot was built, RFC 3339. */
  readonly observedAt: string;
  readonly namespace: string;
  readonly name: string;
  readonly workloads: readonly Workload[];
  readonly channels: readonly Channel[];
  readonly #byName = new Map<string, Workload>();
  readonly #from = new Map<string, Channel[]>();
  readonly #to = new Map<string, Channel[]>();
  readonly #replicas = new Map<string, ReadonlyMap<string, string | null>>();
  readonly #peers = new Map<string, ReadonlySet<string>>();
  readonly #nodeByPod = new Map<string, string>();
  readonly #podsByNode = new Map<string, PodOfWorkload[]>();

  constructor(snapshot: WorkflowGraphSnapshot) {
    this.version = snapshot.version;
    this.observedAt = snapshot.observedAt;
    this.namespace = snapshot.namespace;
    this.name = snapshot.name;
    this.workloads = snapshot.workloads;
    this.channels = snapshot.channels;
    for (const workload of snapshot.workloads) {
      // The workflow's own namespace wins over an equal name in another one: channels carry names only.
      if (!this.#byName.has(workload.name) || workload.namespace === snapshot.namespace) {
        this.#byName.set(workload.name, workload);
      }
      for (const pod of workload.pods) {
        if (pod.node === null) continue;
        append(this.#podsByNode, pod.node, { workload: workload.name, name: pod.name });
        this.#nodeByPod.set(podKey(workload.namespace, pod.name), pod.node);
      }
    }
    for (const channel of snapshot.channels) {
      append(this.#from, channel.source, channel);
      append(this.#to, channel.target, channel);
    }
  }

  /** From JSON of unknown quality. Throws SnapshotError, which names path, rule and value. */
  static fromJson(json: unknown): WorkflowGraph {
    return new WorkflowGraph(parseWorkflowGraph(json));
  }

  workload(name: string): Workload | undefined {
    return this.#byName.get(name);
  }

  /** Channels that the workload starts. */
  channelsFrom(workload: string): readonly Channel[] {
    return this.#from.get(workload) ?? NONE;
  }

  /** Channels that lead to the workload. */
  channelsTo(workload: string): readonly Channel[] {
    return this.#to.get(workload) ?? NONE;
  }

  /** The workload's pods and their nodes, by pod name; the node is null before a pod is bound. */
  replicas(workload: string): ReadonlyMap<string, string | null> {
    let replicas = this.#replicas.get(workload);
    if (replicas === undefined) {
      replicas = new Map(this.#byName.get(workload)?.pods.map(({ name, node }) => [name, node]));
      this.#replicas.set(workload, replicas);
    }
    return replicas;
  }

  /** Workloads at the other ends of the workload's channels; itself, if it has a channel to itself. */
  peersOf(workload: string): ReadonlySet<string> {
    let peers = this.#peers.get(workload);
    if (peers === undefined) {
      peers = new Set([
        ...this.channelsFrom(workload).map(({ target }) => target),
        ...this.channelsTo(workload).map(({ source }) => source),
      ]);
      this.#peers.set(workload, peers);
    }
    return peers;
  }

  /** The node that the pod of that name is on; undefined when the graph shows it on none. */
  nodeOf(namespace: string, pod: string): string | undefined {
    return this.#nodeByPod.get(podKey(namespace, pod));
  }

  podsOn(node: string): readonly PodOfWorkload[] {
    return this.#podsByNode.get(node) ?? NONE;
  }
}

function podKey(namespace: string, pod: string): string {
  return `${namespace}/${pod}`;
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
