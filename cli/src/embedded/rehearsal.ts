// What `isochrone up` shows of placement: warm up, measure, place anew by score, measure again.
import type { EndToEnd } from "@isochrone/lab";
import type { Clock } from "@isochrone/runtime";
import type { Reporter, WarmUp } from "../output/reporter.ts";
import type { Embedded } from "./embedded.ts";

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

/** Rejects with the signal's reason when aborted. */
export async function rehearse(embedded: Embedded, options: RehearsalOptions): Promise<void> {
  const progress = await warmUp(embedded, options);
  options.reporter.warm(progress);
  if (!options.replace) return;
  const before = await measure(embedded, options);
  options.reporter.replacing(before);
  const moves = await embedded.placeByScore(options.signal);
  // Requests that began on the old placement must have left before what counts begins.
  await options.clock.sleep(options.windowMs * MEASURED_SHARE + POLL_MS, options.signal);
  options.reporter.replaced(before, await measure(embedded, options), moves);
}

async function measure({ cluster }: Embedded, { windowMs }: RehearsalOptions): Promise<EndToEnd> {
  return cluster.endToEnd({ lastMs: Math.round(windowMs * MEASURED_SHARE) });
}

async function warmUp(
  embedded: Embedded,
  { windowMs, reporter, clock, signal }: RehearsalOptions,
): Promise<WarmUp> {
  const startedMs = clock.monotonic();
  for (;;) {
    await clock.sleep(POLL_MS, signal);
    const seconds = (clock.monotonic() - startedMs) / 1000;
    const progress = { ...(await lookAt(embedded)), seconds };
    const full =
      progress.linksMeasured === progress.links &&
      progress.podsReady === progress.pods &&
      progress.channels > 0;
    const windowFull = seconds * 1000 >= windowMs;
    if ((full && windowFull) || seconds * 1000 > PATIENCE_WINDOWS * windowMs) return progress;
    reporter.warming(progress);
  }
}

async function lookAt({ graphs, cluster }: Embedded): Promise<Omit<WarmUp, "seconds">> {
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
