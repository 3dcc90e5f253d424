import {
  createLogger,
  Lifecycle,
  nodeProcessHost,
  serviceSettings,
  loadSettings,
  pause,
  systemClock,
} from "@isochrone/runtime";
import type { Clock, ProcessHost } from "@isochrone/runtime";
import { Embedded } from "../embedded/embedded.ts";
import type { EmbeddedOptions } from "../embedded/options.ts";
import { rehearse } from "../embedded/rehearsal.ts";
import type { Reporter } from "../output/reporter.ts";
import type { Format } from "../output/format.ts";
import { jsonReporter, textReporter, yamlReporter } from "../output/reporters.ts";

export interface UpOptions {
  readonly port: number;
  readonly nodes: number;
  readonly matrix?: string;
  readonly manifest?: string;
  readonly kubeconfig?: string;
  readonly rate: number;
  readonly window: number;
  readonly seed: number;
  readonly placement: "score" | "spread";
  readonly replace: boolean;
  readonly allowHost: readonly string[];
  readonly output: Format;
}

/** Runs the embedded cluster until a signal. Progress goes to standard output, logs to standard error. */
export async function upCommand(options: UpOptions, print: (text: string) => void): Promise<void> {
  const reporter = reporterOf(options.output, print);
  const { service } = loadSettings([serviceSettings], {
    env: process.env,
    file: { service: { logLevel: "warn", logFormat: "text" } },
  });
  const logger = createLogger({
    service: "isochrone",
    level: service.logLevel,
    format: service.logFormat,
    destination: process.stderr,
  });
  const ending = new AbortController();
  const host = nodeProcessHost();
  const isReal = options.kubeconfig !== undefined;
  const offSignal = onEnd(host, ending, systemClock, isReal ? STOP_REAL_WITHIN_MS : STOP_WITHIN_MS);
  const lifecycle = new Lifecycle();
  reporter.starting(isReal ? null : options.nodes);
  const embedded = await startUnlessEnded({ ...embeddedOptions(options), logger, env: process.env }, ending);
  if (embedded === null) {
    reporter.stopping();
    reporter.stopped();
    // What was composed and never started may hold threads.
    return host.exit(0);
  }
  try {
    lifecycle.to("running");
    reporter.started(embedded.urls, process.pid, embedded.pageWithControls);
    embedded.network.onDown((reason) => reporter.networkDown(reason));
    await runUntilEnd(embedded, options, reporter, ending.signal);
  } finally {
    lifecycle.to("draining");
    reporter.stopping();
    await embedded.stop();
    lifecycle.to("stopped");
    reporter.stopped();
    offSignal();
  }
}

/** Null when it was ended before it was up. */
async function startUnlessEnded(
  options: EmbeddedOptions,
  { signal }: AbortController,
): Promise<Embedded | null> {
  try {
    return await Embedded.start(options, signal);
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

/** Ctrl-C on a terminal comes twice at once: from it, and from the process that started this one. */
const IMPATIENT_AFTER_MS = 500;

/** Stopping in good order takes less, also while something is still starting. Milliseconds. */
const STOP_WITHIN_MS = 5_000;
/** On a real API server, which has to be rid of the workflow. */
const STOP_REAL_WITHIN_MS = 60_000;

/** The first signal ends in good order and within some seconds, one that comes later ends at once. */
export function onEnd(
  host: Pick<ProcessHost, "onSignal" | "exit">,
  ending: AbortController,
  clock: Clock,
  withinMs: number,
): () => void {
  let askedAtMs = 0;
  const stopped = new AbortController();
  const exitUnlessStopped = async (): Promise<void> => {
    await pause(clock, withinMs, stopped.signal);
    if (!stopped.signal.aborted) host.exit(1);
  };
  const off = host.onSignal((signal) => {
    const nowMs = clock.monotonic();
    if (!ending.signal.aborted) {
      askedAtMs = nowMs;
      ending.abort(signal);
      void exitUnlessStopped();
    } else if (nowMs - askedAtMs > IMPATIENT_AFTER_MS) host.exit(1);
  });
  return () => {
    stopped.abort();
    off();
  };
}

function reporterOf(output: Format, print: (text: string) => void): Reporter {
  if (output === "table") return textReporter(process.stdout);
  return output === "json" ? jsonReporter(print) : yamlReporter(print);
}

function embeddedOptions(options: UpOptions) {
  const { port, nodes, matrix, manifest, kubeconfig, rate, window, seed, placement, allowHost } = options;
  return {
    port,
    nodes,
    requestsPerSecond: rate,
    windowMs: window,
    seed,
    placement,
    allowedHosts: allowHost,
    ...(matrix === undefined ? {} : { matrix }),
    ...(manifest === undefined ? {} : { manifest }),
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
  };
}

const TABLE_INTERVAL_MS = 2_000;

async function runUntilEnd(
  embedded: Embedded,
  options: UpOptions,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  try {
    await rehearse(embedded, {
      windowMs: options.window,
      replace: options.replace,
      reporter,
      clock: systemClock,
      signal,
    });
    for (;;) {
      await systemClock.sleep(TABLE_INTERVAL_MS, signal);
      await reportTable(embedded, reporter);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** The table is for people; that the graph can't be read for a moment is said in it and ends nothing. */
async function reportTable({ graphs, cluster }: Embedded, reporter: Reporter): Promise<void> {
  try {
    const [{ value: graph }, endToEnd] = await Promise.all([
      graphs.cluster(),
      cluster.endToEnd({ lastMs: 20_000 }),
    ]);
    reporter.table({ graph, endToEnd, pods: cluster.pods() });
  } catch (error) {
    reporter.tableFailed(error);
  }
}
