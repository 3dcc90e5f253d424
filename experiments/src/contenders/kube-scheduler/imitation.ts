// kube-scheduler's default profile, pod by pod: filters, scores, the best node, of equal ones a random one.
import type { Random } from "@isochrone/runtime";
import type { Placement } from "../port.ts";
import { feasibleNodes, unschedulable } from "./filters.ts";
import { FillingCluster } from "./filling-cluster.ts";
import type { NodeAccount } from "./filling-cluster.ts";
import type { SchedulingRequest, WaitingPod } from "./port.ts";
import { DEFAULT_WEIGHTS, pluginScores } from "./scores.ts";
import type { ScorePlugin } from "./scores.ts";

/** A plugin besides those of the default profile. */
export interface ExtraPlugin {
  readonly weight: number;
  /** Nodes that it lets the pod onto. @default all */
  readonly admits?: (pod: WaitingPod, nodes: readonly string[]) => ReadonlySet<string>;
  /**
   * 0 to 100 by node, over those that passed all filters. Fractions are cut off: kube-scheduler's scores are
   * whole.
   */
  readonly score: (pod: WaitingPod, nodes: readonly string[]) => ArrayLike<number>;
  /** The pod is on that node from now on. */
  readonly placed: (pod: WaitingPod, node: string) => void;
}

interface Profile {
  /** @default DEFAULT_WEIGHTS */
  readonly weights?: Readonly<Partial<Record<ScorePlugin, number>>>;
  readonly extra?: ExtraPlugin;
}

/** What the profile makes of one pod. */
interface Ranking {
  readonly feasible: readonly NodeAccount[];
  /** By feasible node. */
  readonly totals: Float64Array;
}

type Ranked = { readonly ranking: Ranking } | { readonly message: string };

/** Raised when no node is feasible for a pod. */
export class UnschedulableError extends Error {
  constructor(pod: string, message: string) {
    super(`pod ${pod} can't be scheduled: ${message}`);
    this.name = "UnschedulableError";
  }
}

/** Nodes of the pods that waited. Throws UnschedulableError. */
export function scheduleAll(request: SchedulingRequest, random: Random, profile: Profile = {}): Placement {
  const cluster = new FillingCluster(request.nodes, request.placed);
  const placement = new Map<string, string>();
  for (const pod of request.pods) {
    const node = choose(pod, cluster, random, profile);
    cluster.add(pod, node);
    profile.extra?.placed(pod, node);
    placement.set(pod.name, node);
  }
  return placement;
}

/** The node that the pod goes to. Throws UnschedulableError. */
function choose(pod: WaitingPod, cluster: FillingCluster, random: Random, profile: Profile = {}): string {
  const ranked = rank(pod, cluster, profile);
  if ("message" in ranked) throw new UnschedulableError(pod.name, ranked.message);
  const best = topNodes(ranked.ranking);
  return best[Math.floor(random.next() * best.length)]!;
}

export function rank(pod: WaitingPod, cluster: FillingCluster, { weights, extra }: Profile = {}): Ranked {
  let feasible = feasibleNodes(pod, cluster);
  if (feasible.length === 0) return { message: unschedulable(pod, cluster) };
  if (extra?.admits !== undefined) {
    const admitted = extra.admits(pod, namesOf(feasible));
    feasible = feasible.filter(({ node }) => admitted.has(node.name));
    if (feasible.length === 0) return { message: "its network requirements rule all nodes out" };
  }
  const totals = new Float64Array(feasible.length);
  // kube-scheduler scores nobody either when there is no choice.
  if (feasible.length === 1) return { ranking: { feasible, totals } };
  const used = { ...DEFAULT_WEIGHTS, ...weights };
  for (const [plugin, scores] of Object.entries(pluginScores(pod, feasible, cluster)))
    addWeighted(totals, scores, used[plugin as ScorePlugin]);
  if (extra !== undefined)
    addWeighted(totals, Array.from(extra.score(pod, namesOf(feasible)), Math.trunc), extra.weight);
  return { ranking: { feasible, totals } };
}

/** Names of the nodes that share the highest total. */
export function topNodes({ feasible, totals }: Ranking): string[] {
  const most = totals.reduce((best, total) => Math.max(best, total), -Infinity);
  return namesOf(feasible).filter((_, row) => totals[row] === most);
}

function namesOf(accounts: readonly NodeAccount[]): string[] {
  return accounts.map(({ node }) => node.name);
}

function addWeighted(totals: Float64Array, scores: ArrayLike<number>, weight: number): void {
  for (let row = 0; row < totals.length; row++) totals[row]! += scores[row]! * weight;
}
