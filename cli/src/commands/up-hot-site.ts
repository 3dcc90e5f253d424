import { systemClock } from "@isochrone/runtime";
import { HotSiteLab } from "../embedded/hot-site/hot-site-lab.ts";
import type { HotZone } from "../embedded/hot-site/sample.ts";
import { playHotSite } from "../embedded/hot-site/story.ts";
import type { Format } from "../output/format.ts";
import { hotSiteReporter } from "../output/hot-site-reporters.ts";
import { upUntilSignal } from "./up-until-signal.ts";

interface UpHotSiteOptions {
  readonly hotSite: HotZone;
  readonly port: number;
  readonly seed: number;
  readonly allowHost: readonly string[];
  readonly output: Format;
}

export async function upHotSiteCommand(
  options: UpHotSiteOptions,
  print: (text: string) => void,
): Promise<void> {
  const { hotSite: zone, port, seed, allowHost: allowedHosts, output } = options;
  const reporter = hotSiteReporter(output, print);
  await upUntilSignal({
    reporter,
    start: (logger) => {
      reporter.starting();
      return HotSiteLab.start({ zone, port, seed, allowedHosts, logger, env: process.env });
    },
    play: async (lab, signal) => {
      reporter.started(lab.urls, process.pid);
      await playHotSite(lab, { zone, reporter, clock: systemClock, signal });
    },
  });
}
