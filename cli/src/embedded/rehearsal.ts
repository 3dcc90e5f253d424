// What `isochrone up` shows of placement: warm up, measure, place anew by score, measure again.
import type { EndToEnd, LabCluster, Move } from "@isochrone/lab";
import type { Clock } from "@isochrone/runtime";
import type { ClusterGraphSnapshot } from "@isochrone/topology";
import type { Reporter, WarmUp } from "../output/reporter.ts";

/** What is rehearsed on. */
export interface Rehearsed {
  readonly graphs: {
    cluster(): Promise<{ readonly value: Pick<ClusterGraphSnapshot, "nodes" | "links"> }>;
    workflows(): Promise<{ readonly value: { readonly workflows: readonly { channels: number }[] } }>;
  };
  readonly cluster: Pick<LabCluster, "pods" | "endToEnd">;
  placeByScore(signal: AbortSignal): Promise<readonly Move[]>;
}

export interface RehearsalOptions {
  readonly windowMs: number;
  /** False: warm up only. */
  readonly replace: boolean;
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const POLL_MS = 2_000;
/** How many windows the graphs have to become full, before the rest goes on with what there is. */
const PATIENCE_WINDOWS = 3;
/** End-to-end latency is taken over this share of a window, so that what came before a change isn't in it. */
const MEASURED_SHARE = 2 / 3;

/** Rejects with the signal's reason when aborted, and for nothing else: what can't be read now is read later. */
export async function rehearse(embedded: Rehearsed, options: RehearsalOptions): Promise<void> {
  const { reporter, clock, signal } = options;
  reporter.warm(await warmUp(embedded, options));
  if (!options.replace) return;
  const before = await measure(embedded, options);
  reporter.replacing(before);
  let moves: readonly Move[];
  try {
    moves = await embedded.placeByScore(signal);
  } catch (error) {
    signal.throwIfAborted();
    reporter.trouble("the workflow was not placed anew", error);
    return;
  }
  // Requests that began on the old placement must have left before what counts begins.
  await clock.sleep(options.windowMs * MEASURED_SHARE + POLL_MS, signal);
  reporter.replaced(before, await measure(embedded, options), moves);
}

function measure({ cluster }: Rehearsed, options: RehearsalOptions): Promise<EndToEnd> {
  const lastMs = Math.round(options.windowMs * MEASURED_SHARE);
  return untilRead("the load's latencies", () => cluster.endToEnd({ lastMs }), options);
}

async function warmUp(embedded: Rehearsed, options: RehearsalOptions): Promise<WarmUp> {
  const { windowMs, reporter, clock, signal } = options;
  const startedMs = clock.monotonic();
  for (;;) {
    await clock.sleep(POLL_MS, signal);
    const seen = await untilRead("the graphs", () => lookAt(embedded), options);
    const progress = { ...seen, seconds: (clock.monotonic() - startedMs) / 1000 };
    const full =
      progress.linksMeasured === progress.links &&
      progress.podsReady === progress.pods &&
      progress.channels > 0;
    const windowFull = progress.seconds * 1000 >= windowMs;
    if ((full && windowFull) || progress.seconds * 1000 > PATIENCE_WINDOWS * windowMs) return progress;
    reporter.warming(progress);
  }
}

async function untilRead<T>(
  what: string,
  read: () => Promise<T>,
  { reporter, clock, signal }: RehearsalOptions,
): Promise<T> {
  for (;;)
    try {
      return await read();
    } catch (error) {
      signal.throwIfAborted();
      reporter.trouble(`${what} can't be read, trying again`, error);
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
