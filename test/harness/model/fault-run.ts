import { seededRandom, type Random } from "@isochrone/runtime";
import type { PodLife } from "../audit/pod-lives.ts";
import { ModelCluster } from "./model-cluster.ts";
import type { Machine } from "./noise.ts";
import { replacedText } from "./quiet.ts";

export const MODEL_FAULTS = ["slow-link", "lossy-link", "slow-zone", "dead-node"] as const;
export type ModelFault = (typeof MODEL_FAULTS)[number];

interface FaultRunOptions {
  readonly seed: number;
  readonly machine: Machine;
  readonly faults: readonly ModelFault[];
}

export interface FaultReport {
  readonly fault: string;
  readonly moved: number;
  readonly mistakes: readonly string[];
  /** Requests without a ready pod. A lossy network fails others regardless of moves. */
  readonly failedRequests: number;
}

export interface FaultRunResult {
  readonly reports: readonly FaultReport[];
  /** Requests without a ready pod, per moved pod. Null: no moves. */
  readonly failedPerMove: number | null;
  /** Like `failedPerMove`, for a rolling update of the same Deployments. */
  readonly failedPerRolled: number | null;
}

const FAULT_MS = 200_000;
const HEALED_MS = 120_000;
const ROLL_MS = 30_000;
const SLOW_MS = 100;
const LOSS = 0.3;
/** Maximum duration of requests begun before. */
const SETTLE_MS = 3_000;
const MIN_WINDOW_MS = 5_000;

type Replaced = { readonly old: PodLife; readonly next: PodLife };

export async function faultRun({ seed, machine, faults }: FaultRunOptions): Promise<FaultRunResult> {
  const model = await ModelCluster.start({ seed, machine });
  const random = seededRandom(seed + 1_000_000);
  try {
    const reports: FaultReport[] = [];
    const movedWorkloads = new Set<string>();
    let failedInMoves = 0;
    let moves = 0;
    for (const fault of faults) {
      const { report, moved, failed } = await oneFault(model, fault, random);
      reports.push(report);
      if (fault === "dead-node") continue;
      for (const { old } of moved) movedWorkloads.add(old.workload);
      moves += moved.length;
      failedInMoves += failed;
    }
    const rolled = await failedOfRolling(model, [...movedWorkloads]);
    return {
      reports,
      failedPerMove: moves === 0 ? null : failedInMoves / moves,
      failedPerRolled: rolled,
    };
  } finally {
    await model.stop();
  }
}

async function oneFault(
  model: ModelCluster,
  fault: ModelFault,
  random: Random,
): Promise<{ readonly report: FaultReport; readonly moved: readonly Replaced[]; readonly failed: number }> {
  const known = new Set(model.lives.all.map(({ uid }) => uid));
  const text = make(model, fault, random);
  const beganMs = model.nowMs;
  await model.run(FAULT_MS);
  const faultEndMs = model.nowMs;
  const moved = replacedSince(model, known);
  const mistakes = [...onTarget(model, moved), ...evictedOnce(moved, fault), ...left(model, fault)];
  const p95 = fault === "dead-node" ? null : p95Mistake(model, moved, beganMs, faultEndMs);
  if (p95 !== null) mistakes.push(p95);
  const failed = model.users.unserved(beganMs, faultEndMs);
  model.healLinks();
  const knownThen = new Set(model.lives.all.map(({ uid }) => uid));
  const placedThen = model.placement();
  await model.run(HEALED_MS);
  const movedAfter = replacedSince(model, knownThen).filter(({ old }) => old.endedMs! >= faultEndMs);
  mistakes.push(...onTarget(model, movedAfter), ...gained(model, placedThen, movedAfter));
  return { report: { fault: text, moved: moved.length, mistakes, failedRequests: failed }, moved, failed };
}

function make(model: ModelCluster, fault: ModelFault, random: Random): string {
  const byNode = Map.groupBy(model.placement().values(), (node) => node);
  const used = [...byNode].sort(([, a], [, b]) => b.length - a.length).map(([node]) => node);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!;
  if (fault === "dead-node") {
    const node = pick(used);
    model.killNode(node);
    return `${node} dies`;
  }
  if (fault === "slow-zone") {
    const zoneOf = (node: string): string => node.slice(0, node.lastIndexOf("-"));
    const zone = zoneOf(pick(used));
    for (const a of model.nodes)
      for (const b of model.nodes)
        if (zoneOf(a) === zone && zoneOf(b) !== zone)
          model.setLink(a, b, { rttMs: model.link(a, b).rttMs + SLOW_MS });
    return `zone ${zone} is ${SLOW_MS} ms farther`;
  }
  const crossed = model
    .channels()
    .map(({ source, target }) => [model.placement().get(source), model.placement().get(target)] as const)
    .filter(([a, b]) => a !== undefined && b !== undefined && a !== b);
  const [a, b] = crossed.length > 0 ? pick(crossed) : [used[0], model.nodes.find((node) => node !== used[0])];
  model.setLink(
    a!,
    b!,
    fault === "slow-link" ? { rttMs: model.link(a!, b!).rttMs + SLOW_MS } : { lossRatio: LOSS },
  );
  return `${a} - ${b} ${fault === "slow-link" ? `is ${SLOW_MS} ms slower` : `loses ${100 * LOSS} %`}`;
}

function replacedSince(model: ModelCluster, known: ReadonlySet<string>): Replaced[] {
  return model.lives.replacements().filter(({ next }) => !known.has(next.uid));
}

function onTarget(model: ModelCluster, moved: readonly Replaced[]): string[] {
  return moved.flatMap(({ old, next }) => {
    if (model.isDead(old.node)) return [];
    const announced = model.progress.find(({ pod }) => pod === old.name);
    if (announced === undefined) return [`${replacedText({ old, next })} was never announced`];
    if (announced.to === next.node && next.node !== old.node) return [];
    return [`${replacedText({ old, next })}, announced for ${announced.to}`];
  });
}

function evictedOnce(moved: readonly Replaced[], fault: ModelFault): string[] {
  // Pods of a dead node may have to move again to their best node.
  const most = fault === "dead-node" ? 2 : 1;
  return [...Map.groupBy(moved, ({ old }) => old.workload)]
    .filter(([, all]) => all.length > most)
    .map(([workload, all]) => `${workload} was replaced ${all.length} times for one fault`);
}

function left(model: ModelCluster, fault: ModelFault): string[] {
  if (fault !== "dead-node") return [];
  const placed = [...model.placement()];
  return placed
    .filter(([, node]) => model.isDead(node))
    .map(([workload, node]) => `${workload} is still on ${node}`);
}

function p95Mistake(
  model: ModelCluster,
  moved: readonly Replaced[],
  beganMs: number,
  endMs: number,
): string | null {
  if (moved.length === 0) return null;
  const firstMs = Math.min(...moved.map(({ old }) => old.endedMs!));
  const lastMs = Math.max(...moved.map(({ next }) => next.readyMs!));
  if (firstMs - beganMs < MIN_WINDOW_MS || endMs - lastMs - SETTLE_MS < MIN_WINDOW_MS) return null;
  const before = model.users.quantile(0.95, beganMs, firstMs);
  const after = model.users.quantile(0.95, lastMs + SETTLE_MS, endMs);
  if (before !== null && after !== null && after < before) return null;
  return `p95 was ${before?.toFixed(0)} ms before ${moved.length} moves and is ${after?.toFixed(0)} ms after them`;
}

function gained(
  model: ModelCluster,
  before: ReadonlyMap<string, string>,
  moved: readonly Replaced[],
): string[] {
  if (moved.length === 0) return [];
  const [was, is] = [costOf(model, before), costOf(model, model.placement())];
  return is < was
    ? []
    : [`after healing ${moved.map(replacedText).join(", ")}: ${was.toFixed(0)} -> ${is.toFixed(0)}`];
}

function costOf(model: ModelCluster, at: ReadonlyMap<string, string>): number {
  return model.channels().reduce((sum, { source, target, bytesPerSecond }) => {
    const [a, b] = [at.get(source), at.get(target)];
    if (a === undefined || b === undefined || a === b) return sum;
    return sum + (bytesPerSecond ?? 0) * model.link(a, b).rttMs;
  }, 0);
}

/** Requests without a ready pod, per pod of a rolling update of the moved Deployments. */
async function failedOfRolling(model: ModelCluster, workloads: readonly string[]): Promise<number | null> {
  if (workloads.length === 0) return null;
  const beganMs = model.nowMs;
  for (const workload of workloads) {
    await model.restart(workload);
    await model.run(ROLL_MS);
  }
  return model.users.unserved(beganMs, model.nowMs) / workloads.length;
}
