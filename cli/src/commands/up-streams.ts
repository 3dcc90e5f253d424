import { createLogger, nodeProcessHost, pause, systemClock } from "@isochrone/runtime";
import { StreamLab } from "../embedded/streams/stream-lab.ts";
import { readSample } from "../embedded/streams/sample.ts";
import { playStreams } from "../embedded/streams/story.ts";
import { usageError } from "../errors.ts";
import type { Format } from "../output/format.ts";
import { streamsReporter } from "../output/stream-reporters.ts";
import { DumpError } from "../score/errors.ts";
import { logLevelOf, onEnd } from "./up.ts";

interface UpStreamsOptions {
  readonly port: number;
  readonly manifest?: string;
  readonly window: number;
  readonly allowHost: readonly string[];
  readonly output: Format;
}

const STOP_WITHIN_MS = 10_000;
const FOREVER_MS = 2 ** 31 - 1;

/** Runs stream jobs in an embedded cluster until a signal. Throws CommandError. */
export async function upStreamsCommand(
  options: UpStreamsOptions,
  print: (text: string) => void,
): Promise<void> {
  const sample = sampleOf(options.manifest);
  const reporter = streamsReporter(options.output, print);
  const logger = createLogger({
    service: "isochrone",
    ...logLevelOf(process.env),
    destination: process.stderr,
  });
  const ending = new AbortController();
  const offSignal = onEnd(nodeProcessHost(), ending, systemClock, STOP_WITHIN_MS);
  reporter.starting(sample.sites.length, sample.links.length, sample.jobs.length);
  const { port, window: windowMs, allowHost: allowedHosts } = options;
  const lab = await StreamLab.start({ sample, port, windowMs, allowedHosts, logger, env: process.env });
  const { signal } = ending;
  try {
    if (signal.aborted) return;
    reporter.started(lab.urls, process.pid);
    await playStreams(lab, { sample, reporter, clock: systemClock, signal });
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

function sampleOf(manifest: string | undefined): ReturnType<typeof readSample> {
  try {
    return readSample(manifest);
  } catch (error) {
    if (error instanceof DumpError) throw usageError(error.message, { cause: error });
    throw error;
  }
}
