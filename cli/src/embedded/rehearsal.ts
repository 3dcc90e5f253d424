// The acts of `isochrone up`: the workflow is placed in several ways, one after the other, and what users
// experience is held side by side.
import type { EndToEnd, LabCluster, Move } from "@isochrone/lab";
import type { Clock } from "@isochrone/runtime";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { Reporter, WarmUp } from "../output/reporter.ts";
import type { Act, ActResult, PlacingAct } from "./acts.ts";
import { doubtOf } from "./doubt.ts";
import { busiestLink, networkMsPerRequest } from "./network-time.ts";

/** What is rehearsed on. */
export interface Rehearsed {
  readonly graphs: {
    cluster(): Promise<{ readonly value: ClusterGraphSnapshot }>;
    workflows(): Promise<{
      readonly value: {
        readonly workflows: readonly {
          readonly namespace: string;
          readonly name: string;
          readonly channels: number;
        }[];
      };
    }>;
    workflow(namespace: string, name: string): Promise<{ readonly value: WorkflowGraphSnapshot }>;
  };
  readonly cluster: Pick<LabCluster, "pods" | "endToEnd">;
  /** Places every pod anew, each where it scores best. */
  placeByScore(signal: AbortSignal): Promise<readonly Move[]>;
  /** Moves the pods that the best plan for the whole workflow has elsewhere. */
  placeByPlan(signal: AbortSignal): Promise<readonly Move[]>;
}

interface RehearsalOptions {
  readonly windowMs: number;
  /** The first one is how pods are placed already. */
  readonly acts: readonly Act[];
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whether the machine has other things to do. */
  readonly isBusy: () => boolean;
}

const POLL_MS = 2_000;
/**
 * How many windows the graphs have to know all links and pods, before the rest goes on with what there is.
 */
const PATIENCE_WINDOWS = 3;
/** End-to-end latency is taken over this share of a window. */
const MEASURED_SHARE = 2 / 3;
const MIN_MEASURED_MS = 5_000;
/** When what was measured says little, it goes on so often, before it counts with its doubt. */
const MAX_MEASUREMENTS = 2;

/**
 * Plays the acts that place the workflow and tells the verdict. Rejects with the signal's reason when
 * aborted, and for nothing else: what is slow is waited for, and what can't be read now is read later.
 */
export async function rehearse(embedded: Rehearsed, options: RehearsalOptions): Promise<void> {
  const { reporter, acts } = options;
  reporter.warm(await warmUp(embedded, options));
  const results: ActResult[] = [];
  for (const act of acts) {
    if (act === "live") continue;
    const before = results.at(-1) ?? null;
    if (before !== null) reporter.replacing(act, before);
    const moves = before === null ? [] : await placed(act, embedded, options);
    if (moves === null) continue;
    const result = await measure(act, embedded, options);
    reporter.placed(result, before, moves);
    results.push(result);
  }
  const { cluster, workflows } = await graphsOf(embedded, options);
  reporter.verdict(results, busiestLink(cluster, workflows), acts.includes("live"));
}

/** Null when it can't be placed so: then the placement before stays. */
async function placed(
  act: PlacingAct,
  embedded: Rehearsed,
  { reporter, signal }: RehearsalOptions,
): Promise<readonly Move[] | null> {
  try {
    return await (act === "plan" ? embedded.placeByPlan(signal) : embedded.placeByScore(signal));
  } catch (error) {
    signal.throwIfAborted();
    reporter.trouble("the workflow was not placed anew", error);
    return null;
  }
}

async function measure(act: PlacingAct, embedded: Rehearsed, options: RehearsalOptions): Promise<ActResult> {
  const { clock, signal, windowMs } = options;
  const lastMs = Math.round(Math.max(MIN_MEASURED_MS, windowMs * MEASURED_SHARE));
  for (let measurement = 1; ; measurement++) {
    // Requests that began on the old placement must have left before what counts begins.
    const untilMs = clock.monotonic() + lastMs + POLL_MS;
    let wasBusy = options.isBusy();
    while (clock.monotonic() < untilMs) {
      await clock.sleep(Math.min(POLL_MS, untilMs - clock.monotonic()), signal);
      wasBusy ||= options.isBusy();
    }
    const endToEnd = await loadOf(embedded, wasBusy ? measurement * lastMs : lastMs, options);
    const doubt = doubtOf(endToEnd, wasBusy);
    if (doubt !== null && measurement < MAX_MEASUREMENTS) continue;
    return { act, endToEnd, networkMsPerRequest: await networkTime(embedded, options), doubt };
  }
}

async function networkTime(embedded: Rehearsed, options: RehearsalOptions): Promise<number | null> {
  // The graphs' rates are those of their window, and so must be the requests that caused them.
  const { requestsPerSecond } = await loadOf(embedded, options.windowMs, options);
  const { cluster, workflows } = await graphsOf(embedded, options);
  return networkMsPerRequest(cluster, workflows, requestsPerSecond);
}

function loadOf({ cluster }: Rehearsed, lastMs: number, options: RehearsalOptions): Promise<EndToEnd> {
  return untilRead("the load's latencies", () => cluster.endToEnd({ lastMs }), options);
}

interface Graphs {
  readonly cluster: ClusterGraphSnapshot;
  readonly workflows: readonly WorkflowGraphSnapshot[];
}

function graphsOf({ graphs }: Rehearsed, options: RehearsalOptions): Promise<Graphs> {
  const read = async (): Promise<Graphs> => {
    const [{ value: cluster }, { value: list }] = await Promise.all([graphs.cluster(), graphs.workflows()]);
    const workflows = await Promise.all(
      list.workflows.map(async ({ namespace, name }) => (await graphs.workflow(namespace, name)).value),
    );
    return { cluster, workflows };
  };
  return untilRead("the graphs", read, options);
}

async function warmUp(embedded: Rehearsed, options: RehearsalOptions): Promise<WarmUp> {
  const { windowMs, reporter, clock, signal } = options;
  const startedMs = clock.monotonic();
  for (;;) {
    await clock.sleep(POLL_MS, signal);
    const seen = await untilRead("the graphs", () => lookAt(embedded), options);
    const progress = { ...seen, seconds: (clock.monotonic() - startedMs) / 1000 };
    const isWarm =
      progress.linksMeasured === progress.links &&
      progress.podsReady === progress.pods &&
      progress.channels > 0;
    if (isWarm || progress.seconds * 1000 > PATIENCE_WINDOWS * windowMs) return progress;
    reporter.warming(progress);
  }
}

/** Reads again and again, and says so once. */
async function untilRead<T>(
  what: string,
  read: () => Promise<T>,
  { reporter, clock, signal }: RehearsalOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await read();
    } catch (error) {
      signal.throwIfAborted();
      if (attempt === 1) reporter.trouble(`${what} can't be read, trying again`, error);
      await clock.sleep(POLL_MS, signal);
    }
}

async function lookAt({ graphs, cluster }: Rehearsed): Promise<Omit<WarmUp, "seconds">> {
  const [{ value: graph }, { value: list }] = await Promise.all([graphs.cluster(), graphs.workflows()]);
  const pods = cluster.pods();
  const nodes = graph.nodes.length;
  const measured = new Set(
    graph.links.filter(({ rttMs }) => rttMs.p50 !== null).map(({ source, target }) => `${source} ${target}`),
  );
  return {
    linksMeasured: measured.size,
    links: nodes * (nodes - 1),
    channels: list.workflows.reduce((sum, { channels }) => sum + channels, 0),
    podsReady: pods.filter(({ ready }) => ready).length,
    pods: pods.length,
  };
}
