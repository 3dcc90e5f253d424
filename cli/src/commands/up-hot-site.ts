import { createLogger, nodeProcessHost, pause, systemClock } from "@isochrone/runtime";
import { HotSiteLab } from "../embedded/hot-site/hot-site-lab.ts";
import type { HotZone } from "../embedded/hot-site/sample.ts";
import { playHotSite } from "../embedded/hot-site/story.ts";
import type { Format } from "../output/format.ts";
import { hotSiteReporter } from "../output/hot-site-reporters.ts";
import { logLevelOf, onEnd } from "./up.ts";

interface UpHotSiteOptions {
  readonly hotSite: HotZone;
  readonly port: number;
  readonly seed: number;
  readonly allowHost: readonly string[];
  readonly output: Format;
}

const STOP_WITHIN_MS = 10_000;
const FOREVER_MS = 2 ** 31 - 1;

/** Runs a Service whose requests grow in one zone, in an embedded cluster, until a signal. */
export async function upHotSiteCommand(
  options: UpHotSiteOptions,
  print: (text: string) => void,
): Promise<void> {
  const { hotSite: zone, port, seed, allowHost: allowedHosts, output } = options;
  const reporter = hotSiteReporter(output, print);
  const logger = createLogger({
    service: "isochrone",
    ...logLevelOf(process.env),
    destination: process.stderr,
  });
  const ending = new AbortController();
  const offSignal = onEnd(nodeProcessHost(), ending, systemClock, STOP_WITHIN_MS);
  reporter.starting();
  const lab = await HotSiteLab.start({ zone, port, seed, allowedHosts, logger, env: process.env });
  const { signal } = ending;
  try {
    if (signal.aborted) return;
    reporter.started(lab.urls, process.pid);
    await playHotSite(lab, { zone, reporter, clock: systemClock, signal });
    while (!signal.aborted) await pause(systemClock, FOREVER_MS, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    reporter.stopping();
    await lab.stop();
    reporter.stopped();
    offSignal();
  }
}
