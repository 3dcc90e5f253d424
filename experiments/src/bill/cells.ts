import { MONEY_LEADS } from "@isochrone/placement";
import { MONTH_SECONDS } from "@isochrone/prices";
import { ascending, quantileOfSorted } from "@isochrone/primitives";
import { seededRandom } from "@isochrone/runtime";
import { createContender } from "../contenders/index.ts";
import type { ContenderDeps } from "../contenders/index.ts";
import type { Contender, Placement } from "../contenders/port.ts";
import { combinations, hashOf, type Measurement } from "../frame/bench.ts";
import type { Point } from "../scenario/model.ts";
import { mean } from "../statistics/mean.ts";
import { ModelRun } from "../testbed/model/testbed.ts";
import { dayOf } from "./day.ts";
import type { BillScenario } from "./scenario.ts";

export const BILL_CONTENDERS = {
  default: "kube-scheduler's default plugins; requests go to all replicas in turn",
  "same-zone": "the same, and every Service has trafficDistribution: PreferSameZone",
  latency: "Isochrone, planner.objective: latency",
  money: "Isochrone, planner.objective: money",
  "money-same-zone": "Isochrone by money, and every Service has trafficDistribution: PreferSameZone",
} as const;
export type BillContender = keyof typeof BILL_CONTENDERS;

export interface BillResult {
  readonly hash: string;
  readonly contender: BillContender;
  readonly trial: number;
  /** USD per month of such days. */
  readonly perMonth: number;
  readonly meanMs: number;
  readonly p95Ms: number;
  /** Share of all user requests. */
  readonly failedRatio: number;
  readonly moves: number;
}

/** Increase it when the setup or a contender changes. */
const VERSION = 1;
const HOP_MS = 0.1;
const LEARN_SECONDS = 5;

interface BillCellOptions {
  readonly scenario: BillScenario;
  readonly contenders: readonly BillContender[];
  readonly deps: ContenderDeps;
  readonly signal: AbortSignal;
}

export function billCells({
  scenario,
  contenders,
  deps,
  signal,
}: BillCellOptions): Measurement<BillResult>[] {
  const { seed, hours, hourSeconds, users, trials: runs } = scenario;
  return combinations({ points: [scenario], runs, contenders }, (_, trial, contender) => {
    const hash = hashOf([VERSION, seed, hours, hourSeconds, users, trial, contender]);
    return {
      hash,
      what: `${contender}, day ${trial + 1}`,
      measure: async () => ({
        hash,
        contender,
        trial,
        ...(await day(scenario, trial, contender, deps, signal)),
      }),
    };
  });
}

async function day(
  scenario: BillScenario,
  trial: number,
  who: BillContender,
  deps: ContenderDeps,
  signal: AbortSignal,
): Promise<Omit<BillResult, "contender" | "hash" | "trial">> {
  const point = routed(dayOf(scenario, trial), who);
  const contender = contenderOf(who, deps);
  const seed = scenario.seed + trial;
  try {
    const placement = new Map(await placed(contender, point, seed, signal));
    const run = new ModelRun({ hopMs: HOP_MS }, point, placement, seed, signal);
    run.beginChanges();
    const answered: Float64Array[] = [];
    const sums = { failed: 0, money: 0, moves: 0 };
    for (let hour = 0; hour < scenario.hours; hour++) {
      const { responseMs, failed } = await run.run(scenario.hourSeconds);
      answered.push(responseMs);
      sums.failed += failed;
      sums.money += moneyOf(point, run.bytesBetween) / scenario.hourSeconds;
      const moves = await contender.adjust(point, placement, run.observe(), seededRandom(seed), "in-time");
      await run.move(moves);
      for (const { pod, to } of moves) placement.set(pod, to);
      sums.moves += moves.length;
    }
    const sorted = ascending(Float64Array.from(answered.flatMap((each) => [...each])));
    return {
      perMonth: (sums.money / scenario.hours) * MONTH_SECONDS,
      meanMs: mean([...sorted]),
      p95Ms: quantileOfSorted(sorted, 0.95),
      failedRatio: sums.failed / (sums.failed + sorted.length),
      moves: sums.moves,
    };
  } finally {
    await contender.close();
  }
}

/** Deploys without traffic data, then again with the traffic of the first seconds. */
async function placed(
  contender: Contender,
  point: Point,
  seed: number,
  signal: AbortSignal,
): Promise<Placement> {
  const random = seededRandom(seed);
  const blind = await contender.place(point, null, random);
  if (contender.id === "default") return blind;
  const run = new ModelRun({ hopMs: HOP_MS }, point, blind, seed, signal);
  await run.run(LEARN_SECONDS);
  return await contender.place(point, run.observe(), random);
}

function contenderOf(who: BillContender, deps: ContenderDeps): Contender {
  if (who === "default" || who === "same-zone") return createContender("default", deps);
  const { product } = deps;
  const moneyShare = who === "latency" ? 0 : MONEY_LEADS;
  const planner = { ...product.planner, moneyShare };
  return createContender("isochrone", { ...deps, product: { ...product, planner } });
}

function routed(point: Point, who: BillContender): Point {
  if (who !== "same-zone" && who !== "money-same-zone") return point;
  return { ...point, workflow: { ...point.workflow, prefersSameZone: true } };
}

function moneyOf({ cluster: { nodes, prices } }: Point, bytesBetween: Float64Array): number {
  const { placeOf, places, perByte } = prices!;
  let money = 0;
  for (const [pair, bytes] of bytesBetween.entries()) {
    const [from, to] = [Math.floor(pair / nodes.length), pair % nodes.length];
    money += bytes * perByte[placeOf[from]! * places + placeOf[to]!]!;
  }
  return money;
}
