// Story of `isochrone up --hot-site`: the requests of one zone grow three times, each time with another
// routing and scaling.
import { DISPATCH_ANNOTATIONS } from "@isochrone/kubernetes";
import type { Clock } from "@isochrone/runtime";
import type { ActStart, HotSiteLab } from "./hot-site-lab.ts";
import { DEADLINE_MS, type HotZone } from "./sample.ts";

/**
 * `near`: PreferSameZone with a CPU autoscaler. `hints`: zone hints and forecast replicas. `dispatcher`:
 * per-request routing and forecast replicas.
 */
export type HotSiteAct = "near" | "hints" | "dispatcher";

interface ZoneFigures {
  readonly requests: number;
  /** Share answered within the deadline; null without requests. */
  readonly inTimeRatio: number | null;
}

export interface ActFigures extends ZoneFigures {
  readonly zones: ReadonlyMap<HotZone, ZoneFigures & { readonly replicas: number }>;
}

export interface HotSiteReporter {
  beginning(act: HotSiteAct): void;
  grown(zone: HotZone): void;
  measured(act: HotSiteAct, figures: ActFigures): void;
  verdict(acts: ReadonlyMap<HotSiteAct, ActFigures>): void;
}

interface StoryOptions {
  readonly zone: HotZone;
  readonly reporter: HotSiteReporter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const CALM_MS = 1_500;
/** Settling time of queues, weights and replicas; longer while replicas still arrive. */
const SETTLE_MS = 8_000;
const UNCHANGED_MS = 3_000;
const MOST_SETTLE_MS = 40_000;
const POLL_MS = 500;
const MEASURED_MS = 6_000;

const { dispatch: DISPATCH, replicas: SCALING } = DISPATCH_ANNOTATIONS;
const FOLLOWED = { isNear: false, isAutoscaled: false, isDispatched: false };
const ACTS: readonly (ActStart & { readonly act: HotSiteAct })[] = [
  {
    act: "near",
    annotations: {},
    isNear: true,
    isAutoscaled: true,
    isDispatched: false,
  },
  { ...FOLLOWED, act: "hints", annotations: { [DISPATCH]: "hints", [SCALING]: "scale" } },
  {
    ...FOLLOWED,
    act: "dispatcher",
    annotations: { [DISPATCH]: "dispatcher", [SCALING]: "scale" },
    isDispatched: true,
  },
];

/** Rejects with the signal's reason if aborted. */
export async function playHotSite(
  lab: Pick<HotSiteLab, "begin" | "replicas" | "setHot" | "stretch">,
  { zone, reporter, clock, signal }: StoryOptions,
): Promise<void> {
  const acts = new Map<HotSiteAct, ActFigures>();
  for (const { act, ...how } of ACTS) {
    reporter.beginning(act);
    lab.setHot(false);
    await lab.begin(how, signal);
    await clock.sleep(CALM_MS, signal);
    lab.setHot(true);
    reporter.grown(zone);
    await settled(lab, clock, signal);
    const figures = figuresOf(await lab.stretch(MEASURED_MS), await lab.replicas());
    signal.throwIfAborted();
    acts.set(act, figures);
    reporter.measured(act, figures);
  }
  reporter.verdict(acts);
}

async function settled(lab: Pick<HotSiteLab, "replicas">, clock: Clock, signal: AbortSignal): Promise<void> {
  const beganMs = clock.monotonic();
  let changedMs = beganMs;
  let before = "";
  for (;;) {
    await clock.sleep(POLL_MS, signal);
    const replicas = [...(await lab.replicas()).values()].join(" ");
    const nowMs = clock.monotonic();
    if (replicas !== before) changedMs = nowMs;
    before = replicas;
    if (nowMs - beganMs >= SETTLE_MS && nowMs - changedMs >= UNCHANGED_MS) return;
    if (nowMs - beganMs >= MOST_SETTLE_MS) return;
  }
}

function figuresOf(
  stretch: ReadonlyMap<HotZone, readonly (number | null)[]>,
  replicas: ReadonlyMap<HotZone, number>,
): ActFigures {
  const zones = Array.from(
    stretch,
    ([zone, responses]) => [zone, { ...seen(responses), replicas: replicas.get(zone) ?? 0 }] as const,
  );
  return { ...seen([...stretch.values()].flat()), zones: new Map(zones) };
}

function seen(responses: readonly (number | null)[]): ZoneFigures {
  const inTime = responses.filter((ms) => ms !== null && ms <= DEADLINE_MS).length;
  return {
    requests: responses.length,
    inTimeRatio: responses.length === 0 ? null : inTime / responses.length,
  };
}
