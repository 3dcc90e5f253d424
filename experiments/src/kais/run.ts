// Runs a scenario of kind kais: each point's sequences of requests, each the same for all contenders.
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { ResultStore } from "../run/store.ts";
import type { Labels } from "../scenario/model.ts";
import { controlsOf, type KaisContender } from "./contenders.ts";
import type { Trace } from "./requests/trace.ts";
import { workloadOf, type Workload } from "./requests/workload.ts";
import type { KaisPoint, KaisScenario } from "./scenario.ts";
import { simulate } from "./simulation/simulation.ts";
import type { Outcome } from "./simulation/tally.ts";
import type { LearnedPolicies } from "./training/learned.ts";

/** What one contender made of one sequence of requests. */
export interface KaisResult extends Outcome {
  readonly hash: string;
  readonly point: string;
  readonly labels: Labels;
  readonly contender: KaisContender;
  /** Which sequence of the point, from 0. */
  readonly run: number;
  readonly movedGb: number;
  /** Share in time of the same requests, each served at once at its own site. */
  readonly nobodyWaits: number;
}

/** Higher when the simulation or a policy changes. */
const VERSION = 1;

interface KaisRunOptions {
  readonly scenario: KaisScenario;
  readonly points: readonly KaisPoint[];
  readonly store: ResultStore<KaisResult>;
  readonly trace: { readonly content: Trace; readonly hash: string } | null;
  readonly learned: LearnedPolicies;
  readonly onProgress: (done: number, total: number, what: string) => void;
  readonly signal: AbortSignal;
}

interface KaisRun {
  readonly results: readonly KaisResult[];
  readonly measured: number;
  /** Contenders and points for which there are no weights. */
  readonly without: readonly string[];
}

export async function runKais(options: KaisRunOptions): Promise<KaisRun> {
  const { scenario, points, store, signal, onProgress } = options;
  const results: KaisResult[] = [];
  const without = new Set<string>();
  const total = points.length * scenario.runs * scenario.contenders.length;
  let measured = 0;
  let done = 0;
  for (const point of points)
    for (let run = 0; run < scenario.runs; run++) {
      const workload = workloadOf(point.system, scenario.seed, run, options.trace?.content ?? null);
      for (const contender of scenario.contenders) {
        signal.throwIfAborted();
        const hash = hashOf(options, point, run, contender);
        let result = store.known.get(hash);
        if (result === undefined) {
          onProgress(done, total, `${point.id} ${contender}, run ${run + 1}`);
          // Signals and the progress line get their turn.
          await setImmediate();
          const outcome = outcomeOf(options, point, run, contender, workload);
          if (outcome === null) without.add(`${contender} at ${point.id}`);
          else {
            result = { hash, point: point.id, labels: point.labels, contender, run, ...outcome };
            store.add(result);
            measured++;
          }
        }
        if (result !== undefined) results.push(result);
        done++;
      }
    }
  return { results, measured, without: [...without] };
}

function outcomeOf(
  { scenario, learned }: KaisRunOptions,
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

function hashOf(
  { scenario, trace, learned }: KaisRunOptions,
  { system }: KaisPoint,
  run: number,
  contender: KaisContender,
): string {
  const weights = learned.versionFor(contender);
  const text = JSON.stringify([VERSION, scenario.seed, system, run, contender, trace?.hash ?? null, weights]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
