// Imitates kube-scheduler's default profile, pod by pod: filters, scores, the best node, random ties.
import type { ScorePlugin } from "@isochrone/placement";
import type { Random } from "@isochrone/runtime";
import type { Placement } from "../port.ts";
import { ModelledCluster } from "./modelled-cluster.ts";
import type { SchedulingRequest, WaitingPod } from "./port.ts";

export interface ExtraPlugin {
  readonly weight: number;
  /** @default all */
  readonly admits?: (pod: WaitingPod, nodes: readonly string[]) => ReadonlySet<string>;
  /** 0 to 100 by node, over nodes that passed all filters; truncated to integers like kube-scheduler's. */
  readonly score: (pod: WaitingPod, nodes: readonly string[]) => ArrayLike<number>;
  readonly placed: (pod: WaitingPod, node: string) => void;
}

interface Profile {
  readonly weights?: Readonly<Partial<Record<ScorePlugin, number>>>;
  readonly extra?: ExtraPlugin;
}

export class UnschedulableError extends Error {
  constructor(pod: string, message: string) {
    super(`pod ${pod} can't be scheduled: ${message}`);
    this.name = "UnschedulableError";
  }
}

/** Throws UnschedulableError. */
export function scheduleAll(request: SchedulingRequest, random: Random, profile: Profile = {}): Placement {
  const cluster = new ModelledCluster(request);
  const placement = new Map<string, string>();
  for (const pod of request.pods) {
    const node = choose(pod, cluster, random, profile);
    cluster.place(pod, node);
    profile.extra?.placed(pod, node);
    placement.set(pod.name, node);
  }
  return placement;
}

function choose(pod: WaitingPod, cluster: ModelledCluster, random: Random, profile: Profile): string {
  const nodes = feasibleNodes(pod, cluster, profile);
  // kube-scheduler skips scoring for a single node.
  const best = nodes.length === 1 ? nodes : bestNodes(pod, nodes, cluster, profile);
  return best[Math.floor(random.next() * best.length)]!;
}

function feasibleNodes(pod: WaitingPod, cluster: ModelledCluster, { extra }: Profile): readonly string[] {
  const { nodes, message } = cluster.feasible(pod);
  if (message !== null) throw new UnschedulableError(pod.name, message);
  if (extra?.admits === undefined) return nodes;
  const admitted = extra.admits(pod, nodes);
  const left = nodes.filter((node) => admitted.has(node));
  if (left.length === 0)
    throw new UnschedulableError(pod.name, "its network requirements rule all nodes out");
  return left;
}

function bestNodes(
  pod: WaitingPod,
  nodes: readonly string[],
  cluster: ModelledCluster,
  { weights, extra }: Profile,
): readonly string[] {
  const totals = cluster.totals(pod, nodes, weights);
  if (extra !== undefined) {
    const scores = extra.score(pod, nodes);
    for (let row = 0; row < totals.length; row++) totals[row]! += Math.trunc(scores[row]!) * extra.weight;
  }
  const most = totals.reduce((best, total) => Math.max(best, total), -Infinity);
  return nodes.filter((_, row) => totals[row] === most);
}
