import { storePage } from "@isochrone/lab";
import { reasonOf } from "@isochrone/primitives";
import { createLogger, nodeProcessHost, pause, systemClock, type Logger } from "@isochrone/runtime";
import { logLevelOf, onEnd } from "./up.ts";

interface Lab {
  readonly urls: { readonly page: string };
  stop(): Promise<void>;
}

interface Run<L extends Lab> {
  readonly reporter: { stopping(): void; stopped(): void };
  readonly start: (logger: Logger) => Promise<L>;
  readonly play: (lab: L, signal: AbortSignal) => Promise<void>;
}

const STOP_WITHIN_MS = 10_000;
const FOREVER_MS = 2 ** 31 - 1;

export async function upUntilSignal<L extends Lab>({ reporter, start, play }: Run<L>): Promise<void> {
  const logger = createLogger({
    service: "isochrone",
    ...logLevelOf(process.env),
    destination: process.stderr,
  });
  const ending = new AbortController();
  const offSignal = onEnd(nodeProcessHost(), ending, systemClock, STOP_WITHIN_MS);
  const lab = await start(logger);
  const { signal } = ending;
  const stored = await storePage(lab.urls.page, process.env).catch((error: unknown) => {
    logger.warn("commands don't find this cluster by themselves; give them --server", {
      reason: reasonOf(error),
    });
    return null;
  });
  try {
    if (signal.aborted) return;
    await play(lab, signal);
    while (!signal.aborted) await pause(systemClock, FOREVER_MS, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    reporter.stopping();
    await stored?.remove();
    await lab.stop();
    reporter.stopped();
    offSignal();
  }
}
