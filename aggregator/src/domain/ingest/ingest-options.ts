import type { FlowFacts } from "./bind-flow.ts";
import type { OwnCluster } from "./own-cluster.ts";
import type { AccountLimits } from "../speakers/accounts.ts";
import type { ClusterFacts } from "../speakers/authority.ts";
import type { SpeakerPolicy } from "../speakers/policy.ts";
import type { Speakers } from "../speakers/speaker.ts";

/** Limits of an ingest. */
export interface IngestOptions {
  /** How far ahead of now a point may lie; less than a pane. */
  readonly maxFutureMs: number;
  /** Series that are remembered; beyond them the least recently used are forgotten. */
  readonly maxSeries: number;
  /** Sources whose clock and sequences are remembered. */
  readonly maxSources: number;
  /**
   * New series that one speaker (one source, where nobody proves who speaks) may bring per window; at most
   * half of maxSeries.
   * @default maxSeries
   */
  readonly maxSeriesPerSource?: number;
  /** 32 bits that senders can't guess, or they could make the series' hashes collide. @default 0 */
  readonly hashSeed?: number;
  /** Room of the tables, of which a proven speaker gets a part. @default without bounds */
  readonly maxLinks?: number;
  readonly maxChannels?: number;
  readonly maxPods?: number;
}

/** What an ingest works with. Each has a default of its own. */
export interface IngestParts extends SpeakingParts {
  readonly onRefused?: OnRefused;
}

/** Who is believed, and of what. Each has a default of its own. */
export interface SpeakingParts {
  /** Who sends the records. @default nothing is proven, and everybody is believed */
  readonly speakers?: Speakers;
  /** What services may speak of. @default there are none */
  readonly policy?: SpeakerPolicy;
  /** @default nothing is known */
  readonly facts?: ClusterFacts;
  /** @default nobody plans flows */
  readonly flows?: FlowFacts;
  /** @default this cluster's names are detected */
  readonly clusters?: OwnCluster;
}

/** Told of what was refused, so that it can be logged with names. */
export type OnRefused = (source: string, reason: string, detail: string) => void;

/** What one speaker may bring, by these options. */
export function accountLimits(options: IngestOptions, windowMs: number): AccountLimits {
  const { maxSeries, maxSeriesPerSource, maxSources } = options;
  const { maxLinks = Infinity, maxChannels = Infinity, maxPods = Infinity } = options;
  const maxNewSeries =
    maxSeriesPerSource === undefined ? maxSeries : Math.min(maxSeriesPerSource, Math.ceil(maxSeries / 2));
  const tables = { links: maxLinks, pairs: maxLinks, channels: maxChannels, pods: maxPods };
  return { windowMs, maxNewSeries, maxSources, tables };
}
