import { type ClusterGraphSnapshot, type ClusterNode, type Link } from "@isochrone/topology";
import { downText, type NodeDown } from "@isochrone/topology/findings";
import { fullName, type ClusterState, type NamespacedName, type PodState } from "../cluster-state.ts";

export interface PodLook {
  isReady(pod: NamespacedName): boolean;
  /** Null: no such workload object, or it has no number of replicas. */
  desiredReplicas(kind: string, workload: NamespacedName): number | null;
}

interface LostWorkload extends NamespacedName {
  readonly kind: string;
  lost: number;
}

/** Owners whose pods do not move when their node is gone. */
const BOUND_TO_NODES: ReadonlySet<string> = new Set(["DaemonSet", "Node"]);
/** Minimum number of peers without an answer. A single one may be behind a broken link. */
const LEAST_ASKERS = 2;
/** Extra time in which a silent node's own probe may have had answers, as a share of the window. */
const SLACK_SHARE = 0.1;

export class DownNodes {
  /** Lost workloads by node that is not ready; null: the node was down in the first state. */
  readonly #lost = new Map<string, ReadonlyMap<string, LostWorkload> | null>();
  #before: Pick<ClusterState, "pods"> | null = null;
  #down: ReadonlyMap<string, NodeDown> = new Map();

  /** Processes a new state and graph. A node's pods are those before it went down. */
  update(cluster: ClusterState, graph: ClusterGraphSnapshot, look: PodLook | null): void {
    const unready = cluster.nodes.filter(({ ready }) => !ready);
    const names = new Set(unready.map(({ name }) => name));
    for (const name of this.#lost.keys()) if (!names.has(name)) this.#lost.delete(name);
    for (const { name } of unready)
      if (!this.#lost.has(name)) this.#lost.set(name, this.#before && lostOf(this.#before.pods, name));
    this.#before = { pods: cluster.pods };
    const running = look === null ? null : this.#runningOf(cluster.pods, names, look);
    const down = new Map<string, NodeDown>();
    for (const { name, notReadySince = null } of unready)
      down.set(name, described(name, "not_ready", notReadySince, this.#podsOf(name, running, look)));
    for (const [name, since] of silentNodes(graph, names))
      down.set(name, described(name, "silent", since, NO_PODS));
    this.#down = down;
  }

  isDown(node: string): boolean {
    return this.#down.has(node);
  }

  mark(graph: ClusterGraphSnapshot): ClusterGraphSnapshot {
    if (this.#down.size === 0) return graph;
    const nodes = graph.nodes.map((node): ClusterNode => {
      const down = this.#down.get(node.name);
      return down === undefined ? node : { ...node, down };
    });
    return { ...graph, nodes };
  }

  #runningOf(pods: ClusterState["pods"], unready: ReadonlySet<string>, look: PodLook): Map<string, number> {
    const running = new Map<string, number>();
    for (const lost of this.#lost.values()) for (const key of lost?.keys() ?? []) running.set(key, 0);
    if (running.size === 0) return running;
    for (const pod of pods) {
      const key = keyOf(pod);
      const count = key === null ? undefined : running.get(key);
      if (key === null || count === undefined || pod.node === null || unready.has(pod.node)) continue;
      if (look.isReady(pod)) running.set(key, count + 1);
    }
    return running;
  }

  #podsOf(node: string, running: ReadonlyMap<string, number> | null, look: PodLook | null): DownPods {
    const workloads = this.#lost.get(node) ?? null;
    if (workloads === null || running === null || look === null) return NO_PODS;
    let [pods, podsNotRunning] = [0, 0];
    for (const [key, workload] of workloads) {
      const { kind, lost } = workload;
      // Jobs have no number of replicas: require as many running pods as were lost.
      const desired = look.desiredReplicas(kind, workload) ?? lost;
      pods += lost;
      podsNotRunning += Math.min(lost, Math.max(0, desired - (running.get(key) ?? 0)));
    }
    return { pods, podsNotRunning };
  }
}

type DownPods = Pick<NodeDown, "pods" | "podsNotRunning">;
const NO_PODS: DownPods = { pods: null, podsNotRunning: null };

function described(name: string, cause: NodeDown["cause"], since: string | null, pods: DownPods): NodeDown {
  const down = { cause, since, ...pods };
  return { ...down, text: downText(name, down) };
}

function keyOf({ namespace, workload }: PodState): string | null {
  return workload === null ? null : `${workload.kind}/${fullName({ namespace, name: workload.name })}`;
}

function lostOf(pods: ClusterState["pods"], node: string): ReadonlyMap<string, LostWorkload> {
  const lost = new Map<string, LostWorkload>();
  for (const pod of pods) {
    const key = pod.node === node ? keyOf(pod) : null;
    if (key === null || BOUND_TO_NODES.has(pod.workload!.kind)) continue;
    const { namespace, workload } = pod;
    const known = lost.get(key) ?? { namespace, ...workload!, lost: 0 };
    known.lost++;
    lost.set(key, known);
  }
  return lost;
}

interface Reach {
  readonly askers: Set<string>;
  isAnswering: boolean;
  answeredMs: number;
  heardMs: number;
}

/** Ready nodes that do not answer several peers and hear nothing, with the time of the last answer. */
function silentNodes(
  graph: ClusterGraphSnapshot,
  unready: ReadonlySet<string>,
): [name: string, since: string | null][] {
  const reaches = new Map<string, Reach>();
  const reachOf = (name: string): Reach => {
    const known = reaches.get(name);
    if (known !== undefined) return known;
    const reach = {
      askers: new Set<string>(),
      isAnswering: false,
      answeredMs: Number.NEGATIVE_INFINITY,
      heardMs: Number.NEGATIVE_INFINITY,
    };
    reaches.set(name, reach);
    return reach;
  };
  for (const link of graph.links) {
    if (link.origin !== "measured" || link.lossRatio === null) continue;
    const answeredMs = answerOf(link);
    const from = reachOf(link.source);
    from.heardMs = Math.max(from.heardMs, answeredMs);
    // A node that is down does not count as a peer.
    if (unready.has(link.source)) continue;
    const to = reachOf(link.target);
    to.askers.add(link.source);
    to.isAnswering ||= link.lossRatio < 1;
    to.answeredMs = Math.max(to.answeredMs, answeredMs);
  }
  const slackMs = SLACK_SHARE * graph.windowSeconds * 1000;
  const isSilent = ({ askers, isAnswering, answeredMs, heardMs }: Reach): boolean =>
    askers.size >= LEAST_ASKERS && !isAnswering && heardMs <= answeredMs + slackMs;
  return graph.nodes.flatMap(({ name }) => {
    const reach = unready.has(name) ? undefined : reaches.get(name);
    if (reach === undefined || !isSilent(reach)) return [];
    return [[name, Number.isFinite(reach.answeredMs) ? new Date(reach.answeredMs).toISOString() : null]];
  });
}

function answerOf({ answeredAt = null }: Link): number {
  return answeredAt === null ? Number.NEGATIVE_INFINITY : Date.parse(answeredAt);
}
