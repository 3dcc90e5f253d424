import type { Channel, RoutingScope, Workload, WorkflowGraphSnapshot } from "./schema.ts";
import { parseWorkflowGraph } from "./validation.ts";

const NONE: readonly never[] = [];

interface PodOfWorkload {
  readonly workload: string;
  readonly name: string;
}

/** Immutable view of a workflow snapshot: workloads and channels. */
export class WorkflowGraph {
  readonly version: number;
  readonly observedAt: string;
  readonly namespace: string;
  readonly name: string;
  readonly workloads: readonly Workload[];
  readonly channels: readonly Channel[];
  readonly #index: WorkflowIndex;

  /** @param same a graph with equal workloads and channels, whose indexes are reused */
  constructor(snapshot: WorkflowGraphSnapshot, same?: WorkflowGraph) {
    this.version = snapshot.version;
    this.observedAt = snapshot.observedAt;
    this.namespace = snapshot.namespace;
    this.name = snapshot.name;
    this.workloads = snapshot.workloads;
    this.channels = snapshot.channels;
    this.#index = same === undefined ? indexOf(snapshot) : same.#index;
  }

  static fromJson(json: unknown): WorkflowGraph {
    return new WorkflowGraph(parseWorkflowGraph(json));
  }

  /** Returns the same content under a later version. */
  seenAgain(version: number, observedAt: string): WorkflowGraph {
    const { namespace, name, workloads, channels } = this;
    const snapshot = { version, observedAt, namespace, name, workloads, channels };
    return new WorkflowGraph(snapshot as WorkflowGraphSnapshot, this);
  }

  workload(name: string): Workload | undefined {
    return this.#index.byName.get(name);
  }

  channelsFrom(workload: string): readonly Channel[] {
    return this.#index.from.get(workload) ?? NONE;
  }

  channelsTo(workload: string): readonly Channel[] {
    return this.#index.to.get(workload) ?? NONE;
  }

  /** Nodes of a workload's pods, by pod name. Null: the pod isn't bound yet. */
  replicas(workload: string): ReadonlyMap<string, string | null> {
    let replicas = this.#index.replicas.get(workload);
    if (replicas === undefined) {
      replicas = new Map(this.#index.byName.get(workload)?.pods.map(({ name, node }) => [name, node]));
      this.#index.replicas.set(workload, replicas);
    }
    return replicas;
  }

  /** Peers of a workload; includes itself if it has a channel to itself. */
  peersOf(workload: string): ReadonlySet<string> {
    let peers = this.#index.peers.get(workload);
    if (peers === undefined) {
      peers = new Set([
        ...this.channelsFrom(workload).map(({ target }) => target),
        ...this.channelsTo(workload).map(({ source }) => source),
      ]);
      this.#index.peers.set(workload, peers);
    }
    return peers;
  }

  /** Node of a pod. Undefined: the graph shows it on none. */
  nodeOf(namespace: string, pod: string): string | undefined {
    return this.#index.nodeByPod.get(podKey(namespace, pod));
  }

  podsOn(node: string): readonly PodOfWorkload[] {
    return this.#index.podsByNode.get(node) ?? NONE;
  }
}

/** Default scopes of `nearest`, narrowest first. */
const ROUTING_SCOPES: readonly RoutingScope[] = ["node", "zone", "region"];

/** Scopes in which traffic prefers a nearer replica, narrowest first. Null: spread evenly. */
export function routingScopes(channel: Channel): readonly RoutingScope[] | null {
  if (channel.routing !== "nearest") return null;
  const { routingScopes: said } = channel;
  return said === undefined ? ROUTING_SCOPES : ROUTING_SCOPES.filter((scope) => said.includes(scope));
}

interface WorkflowIndex {
  readonly byName: Map<string, Workload>;
  readonly from: Map<string, Channel[]>;
  readonly to: Map<string, Channel[]>;
  readonly replicas: Map<string, ReadonlyMap<string, string | null>>;
  readonly peers: Map<string, ReadonlySet<string>>;
  readonly nodeByPod: Map<string, string>;
  readonly podsByNode: Map<string, PodOfWorkload[]>;
}

function indexOf({ namespace, workloads, channels }: WorkflowGraphSnapshot): WorkflowIndex {
  const byName = new Map<string, Workload>();
  const nodeByPod = new Map<string, string>();
  const podsByNode = new Map<string, PodOfWorkload[]>();
  for (const workload of workloads) {
    // The workflow's own namespace wins over equal names in others: channels carry plain names.
    if (!byName.has(workload.name) || workload.namespace === namespace) byName.set(workload.name, workload);
    for (const pod of workload.pods) {
      if (pod.node === null) continue;
      append(podsByNode, pod.node, { workload: workload.name, name: pod.name });
      nodeByPod.set(podKey(workload.namespace, pod.name), pod.node);
    }
  }
  const from = new Map<string, Channel[]>();
  const to = new Map<string, Channel[]>();
  for (const channel of channels) {
    append(from, channel.source, channel);
    append(to, channel.target, channel);
  }
  return { byName, from, to, replicas: new Map(), peers: new Map(), nodeByPod, podsByNode };
}

function podKey(namespace: string, pod: string): string {
  return `${namespace}/${pod}`;
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}
