import type { Placement } from "../../../contenders/port.ts";
import type { Point } from "../../../scenario/model.ts";
import { ascending, quantileOfSorted } from "@isochrone/primitives";
import { mean } from "../../../statistics/mean.ts";
import { createLabTestbed } from "../../lab/index.ts";
import type { LinkKind } from "../../lab/index.ts";
import { createModelTestbed } from "../../model/index.ts";
import type { Testbed, Stretch } from "../../port.ts";
import { idlePoint, validationPoint } from "./points.ts";
import type { LoadName, ValidationPoint } from "./points.ts";

interface ValidationOptions {
  readonly scale: number;
  /** Second scale for some points: results must not depend on it. */
  readonly otherScale: number;
  /** Wall-clock seconds per point. */
  readonly seconds: number;
  readonly loads: readonly LoadName[];
  readonly rttsMs: readonly number[];
  /** @default the best that the machine allows */
  readonly links?: LinkKind;
  readonly signal: AbortSignal;
  say(this: void, text: string): void;
}

export interface Comparison {
  readonly point: string;
  readonly scale: number;
  readonly requests: number;
  readonly failed: number;
  readonly labP50: number;
  readonly labP95: number;
  readonly modelP50: number;
  readonly modelP95: number;
  /** Relative deviation of the lab's p95 from the model's. */
  readonly deviation: number;
  /** Relative standard deviation of the p95 for this many requests, by the model. */
  readonly chance: number;
}

export interface Validation {
  readonly lab: Readonly<Record<string, string | number>>;
  /** Calibrated per scale. */
  readonly hopMs: Readonly<Record<number, number>>;
  readonly comparisons: readonly Comparison[];
}

const SEED = 11;
const WARM_UP_SECONDS = 5;
const MODEL_WARM_UP_SECONDS = 20;
/** Runs of the model per lab interval, to reduce its random error. */
const MODEL_STRETCHES = 30;
const IDLE_RTT_MS = 20;
const IDLE_SECONDS = 20;

export async function validateGrounds(options: ValidationOptions): Promise<Validation> {
  const { loads, rttsMs, scale, otherScale, say } = options;
  const points = loads.flatMap((load) => rttsMs.map((rttMs) => validationPoint(load, rttMs)));
  const again = points.filter(({ load, rttMs }) => load !== "low" && rttMs === rttsMs[0]);
  const hopMs: Record<number, number> = {};
  const comparisons: Comparison[] = [];
  let lab: Validation["lab"] = {};
  for (const [at, chosen] of [
    [scale, points],
    [otherScale, again],
  ] as const) {
    if (chosen.length === 0) continue;
    const settings = { scale: at, only: [], durationSeconds: options.seconds, trials: 1 };
    const ground = await createLabTestbed(
      settings,
      options.links === undefined ? {} : { links: options.links },
    );
    lab = ground.describe();
    hopMs[at] = await calibrateHopMs(ground, options.signal);
    say(`scale ${at}: a message takes ${hopMs[at].toFixed(3)} ms besides the way`);
    for (const point of chosen) {
      const comparison = await compare(ground, at, hopMs[at], point, options);
      comparisons.push(comparison);
      say(
        `${comparison.point}, scale ${at}: lab ${comparison.labP95.toFixed(1)}, model ${comparison.modelP95.toFixed(1)}`,
      );
    }
    await ground.close();
  }
  return { lab, hopMs, comparisons };
}

/** Calibrates the overhead per message so that the model's median equals the lab's without queueing. */
async function calibrateHopMs(lab: Testbed, signal: AbortSignal): Promise<number> {
  const { point, placement } = idlePoint(IDLE_RTT_MS);
  const { responseMs } = await measure(lab, point, placement, IDLE_SECONDS, signal);
  const measured = quantileOfSorted(ascending(responseMs), 0.5);
  const modelled = async (hopMs: number): Promise<number> => {
    const { responseMs } = await measure(
      createModelTestbed({ hopMs }),
      point,
      placement,
      IDLE_SECONDS,
      signal,
    );
    return quantileOfSorted(ascending(responseMs), 0.5);
  };
  const without = await modelled(0);
  return Math.max(0, (measured - without) / ((await modelled(1)) - without));
}

async function measure(
  ground: Testbed,
  point: Point,
  placement: Placement,
  seconds: number,
  signal: AbortSignal,
): Promise<Stretch> {
  const running = await ground.start(point, placement, SEED, signal);
  try {
    await running.run(WARM_UP_SECONDS);
    return await running.run(seconds);
  } finally {
    await running.stop();
  }
}

async function compare(
  ground: Testbed,
  scale: number,
  hopMs: number,
  { name, point, placement }: ValidationPoint,
  { seconds, signal }: ValidationOptions,
): Promise<Comparison> {
  const stretch = await measure(ground, point, placement, seconds, signal);
  const model = await createModelTestbed({ hopMs }).start(point, placement, SEED, signal);
  await model.run(MODEL_WARM_UP_SECONDS);
  const stretches: Float64Array[] = [];
  for (let i = 0; i < MODEL_STRETCHES; i++) stretches.push((await model.run(seconds / scale)).responseMs);
  const p95s = stretches.map((responseMs) => quantileOfSorted(ascending(responseMs), 0.95));
  const centre = mean(p95s);
  const spread = Math.sqrt(mean(p95s.map((p95) => (p95 - centre) ** 2)));
  const modelled = ascending(stretches.flatMap((responseMs) => [...responseMs]));
  const measured = ascending(stretch.responseMs);
  const modelP95 = quantileOfSorted(modelled, 0.95);
  const labP95 = quantileOfSorted(measured, 0.95);
  return {
    point: name,
    scale,
    requests: measured.length + stretch.failed,
    failed: stretch.failed,
    labP50: quantileOfSorted(measured, 0.5),
    labP95,
    modelP50: quantileOfSorted(modelled, 0.5),
    modelP95,
    deviation: labP95 / modelP95 - 1,
    chance: spread / centre,
  };
}
