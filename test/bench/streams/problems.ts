import type { Draw } from "@isochrone/primitives";
import type { StreamJob } from "@isochrone/streams";
import { videoJob } from "@isochrone/streams/simulation";
import type { RandomNetwork } from "@isochrone/streams/testing";

export function videoJobs(random: RandomNetwork, count: number, draw: Draw): StreamJob[] {
  return Array.from({ length: count }, (_, at) =>
    videoJob(random, { name: `job-${at}`, source: Math.floor(draw() * random.speeds.length) }),
  );
}

export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** CPU time of this thread, ms: excludes compilers, garbage collectors and other threads. */
export function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
