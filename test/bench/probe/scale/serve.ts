import type { AggregatorCalls, Answer, Call, ProbesCalls, RespondersCalls, Usage } from "./messages.ts";

/** Serves the parent's calls until the channel closes. Then exits at once. */
export function serve(calls: AggregatorCalls | ProbesCalls | RespondersCalls): void {
  const table = calls as unknown as Record<string, (...values: readonly unknown[]) => Promise<unknown>>;
  const answer = async ({ id, name, values }: Call): Promise<Answer> => {
    try {
      return { id, value: await table[name]!(...values) };
    } catch (error) {
      return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  process.on("message", (message) => {
    void answer(message as Call).then((result) => process.send?.(result));
  });
  process.on("disconnect", () => process.exit(0));
}

export function startUsage(): () => Usage {
  const beganMs = performance.now();
  const cpu = process.cpuUsage();
  const main = process.threadCpuUsage();
  return () => {
    const all = process.cpuUsage(cpu);
    const own = process.threadCpuUsage(main);
    return {
      elapsedMs: performance.now() - beganMs,
      cpuMs: (all.user + all.system) / 1000,
      mainCpuMs: (own.user + own.system) / 1000,
      rssBytes: process.memoryUsage.rss(),
    };
  };
}
