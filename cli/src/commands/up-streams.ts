import { systemClock } from "@isochrone/runtime";
import { StreamLab } from "../embedded/streams/stream-lab.ts";
import { readSample } from "../embedded/streams/sample.ts";
import { playStreams } from "../embedded/streams/story.ts";
import { usageError } from "../errors.ts";
import type { Format } from "../output/format.ts";
import { streamsReporter } from "../output/stream-reporters.ts";
import { DumpError } from "../score/errors.ts";
import { upUntilSignal } from "./up-until-signal.ts";

interface UpStreamsOptions {
  readonly port: number;
  readonly manifest?: string;
  readonly window: number;
  readonly allowHost: readonly string[];
  readonly output: Format;
}

export async function upStreamsCommand(
  options: UpStreamsOptions,
  print: (text: string) => void,
): Promise<void> {
  const sample = sampleOf(options.manifest);
  const reporter = streamsReporter(options.output, print);
  const { port, window: windowMs, allowHost: allowedHosts } = options;
  await upUntilSignal({
    reporter,
    start: (logger) => {
      reporter.starting(sample.sites.length, sample.links.length, sample.jobs.length);
      return StreamLab.start({ sample, port, windowMs, allowedHosts, logger, env: process.env });
    },
    play: async (lab, signal) => {
      reporter.started(lab.urls, process.pid);
      await playStreams(lab, { sample, reporter, clock: systemClock, signal });
    },
  });
}

function sampleOf(manifest: string | undefined): ReturnType<typeof readSample> {
  try {
    return readSample(manifest);
  } catch (error) {
    if (error instanceof DumpError) throw usageError(error.message, { cause: error });
    throw error;
  }
}
