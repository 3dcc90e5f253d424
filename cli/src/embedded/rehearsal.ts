// Plays the acts of `isochrone up`: places the workflow in several ways in turn and compares the users'
// latency.
import { upperMedian } from "@isochrone/primitives";
import type { EndToEnd, LabCluster, Move } from "@isochrone/lab";
import type { Clock } from "@isochrone/runtime";
import type { ClusterGraphSnapshot, WorkflowGraphSnapshot } from "@isochrone/topology";
import type { Reporter, WarmUp } from "../output/reporter.ts";
import { doubtOf, type Act, type ActResult, type PlacingAct } from "./acts.ts";
import { busiestLink, callsPerRequest, networkMsPerRequest, type NetworkSample } from "./network-time.ts";

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
  placeByScore(signal: AbortSignal): Promise<readonly Move[]>;
  placeByPlan(signal: AbortSignal): Promise<readonly Move[]>;
}

interface RehearsalOptions {
  readonly windowMs: number;
  readonly acts: readonly Act[];
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly isLate: () => boolean;
}

const POLL_MS = 2_000;
/** Windows to wait for complete graphs before continuing anyway. */
const PATIENCE_WINDOWS = 3;
/** Share of a window, all in time, that a figure needs. */
const MEASURED_SHARE = 1 / 2;
const MIN_MEASURED_MS = 5_000;
/** Windows after which an act's figures are used and marked approximate. */
const MEASURE_WINDOWS = 2;

/** Plays the placing acts. Rejects only with the abort reason; waits for slow parts and retries reads. */
export async function rehearse(embedded: Rehearsed, options: RehearsalOptions): Promise<void> {
  const { reporter, acts } = options;
  reporter.warm(await warmUp(embedded, options));
  const results: ActResult[] = [];
  let first: NetworkSample | undefined;
  for (const act of acts) {
    if (act === "live") continue;
    const before = results.at(-1) ?? null;
    if (before !== null) reporter.replacing(act, before);
    const moves = before === null ? [] : await placed(act, embedded, options);
    if (moves === null) continue;
    const measured = await measure(act, embedded, options);
    // Compares all acts by the first one's calls, before any replacement. The newest sample misses the fewest
    // late calls.
    first ??= measured.samples.at(-1);
    const result = { ...measured.result, ...networkOf(measured.samples, first) };
    reporter.placed(result, before, moves);
    results.push(result);
  }
  const { cluster, workflows } = await graphsOf(embedded, options);
  reporter.verdict(results, busiestLink(cluster, workflows), acts.includes("live"));
}

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

interface Measured {
  readonly result: Pick<ActResult, "act" | "endToEnd" | "doubt">;
  readonly samples: readonly NetworkSample[];
}

/** Measures until enough time was in time, else uses everything: rates dropped meanwhile. */
async function measure(act: PlacingAct, embedded: Rehearsed, options: RehearsalOptions): Promise<Measured> {
  const { clock, signal, windowMs, reporter } = options;
  const lastMs = Math.round(Math.max(MIN_MEASURED_MS, windowMs * MEASURED_SHARE));
  const patienceMs = Math.max(MEASURE_WINDOWS * windowMs, 2 * lastMs);
  const samples: NetworkSample[] = [];
  // Requests on the old placement must finish first.
  const beganMs = clock.monotonic() + POLL_MS;
  let fairSinceMs = beganMs;
  for (;;) {
    await clock.sleep(POLL_MS, signal);
    if (options.isLate()) fairSinceMs = clock.monotonic();
    if (clock.monotonic() > beganMs) samples.push(await graphsOf(embedded, options));
    const nowMs = clock.monotonic();
    const [fairMs, allMs] = [nowMs - fairSinceMs, nowMs - beganMs];
    reporter.measuring({ act, fairMs, wantedMs: lastMs, allMs, patienceMs });
    const isOver = allMs >= patienceMs;
    if (fairMs < lastMs && !isOver) continue;
    const isFair = fairMs >= lastMs;
    const endToEnd = await loadOf(embedded, isFair ? fairMs : allMs, options);
    const doubt = doubtOf(endToEnd, !isFair);
    if (doubt === null || isOver) return { result: { act, endToEnd, doubt }, samples };
  }
}

function networkOf(
  samples: readonly NetworkSample[],
  first: NetworkSample | undefined,
): Pick<ActResult, "networkMsPerRequest" | "networkRangeMs"> {
  const calls = callsPerRequest(first?.workflows ?? []);
  const known = laterHalf(samples).flatMap((sample) =>
    calls === null ? [] : (networkMsPerRequest(sample, calls) ?? []),
  );
  if (known.length === 0) return { networkMsPerRequest: null, networkRangeMs: null };
  return {
    networkMsPerRequest: upperMedian(known),
    networkRangeMs: [Math.min(...known), Math.max(...known)],
  };
}

const laterHalf = <T>(all: readonly T[]): readonly T[] => all.slice(all.length >> 1);

function loadOf({ cluster }: Rehearsed, lastMs: number, options: RehearsalOptions): Promise<EndToEnd> {
  return untilRead("the load's latencies", () => cluster.endToEnd({ lastMs }), options);
}

function graphsOf({ graphs }: Rehearsed, options: RehearsalOptions): Promise<NetworkSample> {
  const read = async (): Promise<NetworkSample> => {
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

/** Retries reading and reports the failure once. */
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
