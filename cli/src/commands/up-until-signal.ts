import { createLogger, nodeProcessHost, pause, systemClock, type Logger } from "@isochrone/runtime";
import { logLevelOf, onEnd } from "./up.ts";

interface Run<L extends { stop(): Promise<void> }> {
  readonly reporter: { stopping(): void; stopped(): void };
  readonly start: (logger: Logger) => Promise<L>;
  readonly play: (lab: L, signal: AbortSignal) => Promise<void>;
}

const STOP_WITHIN_MS = 10_000;
const FOREVER_MS = 2 ** 31 - 1;

export async function upUntilSignal<L extends { stop(): Promise<void> }>({
  reporter,
  start,
  play,
}: Run<L>): Promise<void> {
  const logger = createLogger({
    service: "isochrone",
    ...logLevelOf(process.env),
    destination: process.stderr,
  });
  const ending = new AbortController();
  const offSignal = onEnd(nodeProcessHost(), ending, systemClock, STOP_WITHIN_MS);
  const lab = await start(logger);
  const { signal } = ending;
  try {
    if (signal.aborted) return;
    await play(lab, signal);
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
