import { combinations, hashOf, type Measurement } from "../frame/bench.ts";
import type { Labels } from "../scenario/model.ts";
import { controlsOf, type KaisContender } from "./contenders.ts";
import type { Trace } from "./requests/trace.ts";
import { workloadOf, type Workload } from "./requests/workload.ts";
import type { KaisPoint, KaisScenario } from "./scenario.ts";
import { simulate } from "./simulation/simulation.ts";
import type { Outcome } from "./simulation/tally.ts";
import type { LearnedPolicies } from "./training/learned.ts";

export interface KaisResult extends Outcome {
  readonly hash: string;
  readonly point: string;
  readonly labels: Labels;
  readonly contender: KaisContender;
  readonly run: number;
  readonly movedGb: number;
  /** Share in time of the same requests if each is served immediately at its own site. */
  readonly nobodyWaits: number;
}

/** Increase it when the simulation or a policy changes. */
const VERSION = 1;

interface KaisCellOptions {
  readonly scenario: KaisScenario;
  readonly points: readonly KaisPoint[];
  readonly trace: { readonly content: Trace; readonly hash: string } | null;
  readonly learned: LearnedPolicies;
  /** Called if a contender has no weights at a point and is skipped. */
  readonly onMissingWeights: (contender: KaisContender, point: KaisPoint) => void;
}

export function kaisCells(options: KaisCellOptions): Measurement<KaisResult>[] {
  const { scenario, points, trace, learned, onMissingWeights } = options;
  const { seed, runs, contenders } = scenario;
  const workload = keepLatest((point: KaisPoint, run: number) =>
    workloadOf(point.system, seed, run, trace?.content ?? null),
  );
  return combinations({ points, runs, contenders }, (point, run, contender): Measurement<KaisResult> => {
    const weights = learned.versionFor(contender);
    const hash = hashOf([VERSION, seed, point.system, run, contender, trace?.hash ?? null, weights]);
    return {
      hash,
      what: `${point.id} ${contender}, run ${run + 1}`,
      measure: () => {
        const outcome = outcomeOf(options, point, run, contender, workload(point, run));
        if (outcome !== null)
          return { hash, point: point.id, labels: point.labels, contender, run, ...outcome };
        onMissingWeights(contender, point);
        return null;
      },
    };
  });
}

/** Caches only the latest run: its requests are large, and contenders of a run follow each other. */
function keepLatest<P, T>(make: (point: P, run: number) => T): (point: P, run: number) => T {
  let latest: { readonly point: P; readonly run: number; readonly made: T } | null = null;
  return (point, run) => {
    if (latest?.point !== point || latest.run !== run) latest = { point, run, made: make(point, run) };
    return latest.made;
  };
}

function outcomeOf(
  { scenario, learned }: KaisCellOptions,
  { system }: KaisPoint,
  run: number,
  contender: KaisContender,
  workload: Workload,
): Omit<KaisResult, "hash" | "point" | "labels" | "contender" | "run"> | null {
  const seed = scenario.seed * 1_009 + run;
  const controls = controlsOf(contender, seed, system, learned);
  if (controls === null) return null;
  const outcome = simulate(system, workload, controls, seed);
  const inTime = workload.arrivals.filter(
    ({ at, workSeconds, deadline }) => at + workSeconds + system.ownMs / 1e3 <= deadline,
  );
  return {
    ...outcome,
    movedGb: outcome.forwardedGb + outcome.imagesGb,
    nobodyWaits: inTime.length / workload.arrivals.length,
  };
}
