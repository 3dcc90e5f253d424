import type { StreamJobView, StreamLinkView } from "@isochrone/topology";

type State = "good" | "warn" | "bad";

interface Limit {
  readonly kind: "task" | "link" | "source";
  readonly words: string;
  readonly pair: readonly [string, string] | null;
}

/** The job's bottleneck; null: unknown. */
export function limitOf({ limit }: StreamJobView): Limit | null {
  switch (limit?.kind) {
    case "task":
      return { kind: "task", words: `task ${limit.task} on ${limit.node}`, pair: null };
    case "link":
      return {
        kind: "link",
        words: `link ${limit.source} → ${limit.target}`,
        pair: [limit.source, limit.target],
      };
    case "source":
      return { kind: "source", words: `source on ${limit.node}`, pair: null };
    default:
      return null;
  }
}

/** Measured/predicted ratio below which a job is behind. */
const BEHIND = 0.9;
/** Rounding tolerance of promises. */
const KEPT = 1 - 1e-6;

export function troubleOf(job: StreamJobView): { readonly state: State; readonly words: string } | null {
  const { phase, framesPerSecond: predicted, measuredFramesPerSecond: measured, minThroughput, waits } = job;
  if (phase === "Failed") return { state: "bad", words: waits?.message ?? "its spec can't be carried out" };
  if (minThroughput !== null && predicted !== null && predicted < minThroughput * KEPT)
    return { state: "bad", words: "its promise is broken" };
  if (waits !== null) return { state: "warn", words: waits.message };
  if (measured !== null && predicted !== null && measured < predicted * BEHIND)
    return { state: "warn", words: "it gets less than predicted" };
  return null;
}

export function inOrder(jobs: readonly StreamJobView[]): StreamJobView[] {
  const rank = (job: StreamJobView): number => ["bad", "warn"].indexOf(troubleOf(job)?.state ?? "good");
  const place = (job: StreamJobView): number => (rank(job) === -1 ? 2 : rank(job));
  return jobs.toSorted((a, b) => place(a) - place(b) || (nameOf(a) < nameOf(b) ? -1 : 1));
}

export function nameOf({ namespace, name }: Pick<StreamJobView, "name" | "namespace">): string {
  return `${namespace}/${name}`;
}

export function totals(jobs: readonly StreamJobView[]): {
  readonly predicted: number;
  readonly measured: number | null;
  readonly promises: number;
  readonly broken: number;
} {
  let [predicted, promises, broken] = [0, 0, 0];
  let measured: number | null = 0;
  for (const { framesPerSecond, measuredFramesPerSecond, minThroughput } of jobs) {
    if (minThroughput !== null) promises++;
    if (framesPerSecond === null) continue;
    predicted += framesPerSecond;
    if (minThroughput !== null && framesPerSecond < minThroughput * KEPT) broken++;
    measured =
      measured === null || measuredFramesPerSecond === null ? null : measured + measuredFramesPerSecond;
  }
  return { predicted, measured, promises, broken };
}

/** Frames per second, measured if known; null: unknown. */
export function paceOf({ framesPerSecond, measuredFramesPerSecond }: StreamJobView): number | null {
  return measuredFramesPerSecond ?? framesPerSecond;
}

export function slowestOf(jobs: readonly StreamJobView[]): StreamJobView | null {
  const known = jobs.filter((job) => paceOf(job) !== null);
  return known.toSorted((a, b) => paceOf(a)! - paceOf(b)! || (nameOf(a) < nameOf(b) ? -1 : 1))[0] ?? null;
}

interface Use {
  readonly planned: number;
  readonly sent: number | null;
}

export function useOf(link: StreamLinkView): Use | null {
  const { capacityBitsPerSecond: capacity, plannedBitsPerSecond: planned, sentBitsPerSecond: sent } = link;
  if (capacity === null || capacity <= 0) return null;
  return { planned: planned / capacity, sent: sent === null ? null : sent / capacity };
}
