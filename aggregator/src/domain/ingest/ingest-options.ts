import type { FlowFacts } from "./bind-flow.ts";
import type { OwnCluster } from "./own-cluster.ts";
import type { AccountLimits } from "../speakers/accounts.ts";
import type { ClusterFacts } from "../speakers/authority.ts";
import type { SpeakerPolicy } from "../speakers/policy.ts";
import type { Speakers } from "../speakers/speaker.ts";

export interface IngestOptions {
  /** Maximum time that a point may be ahead of now; less than a pane. */
  readonly maxFutureMs: number;
  /** Maximum number of series. The least recently used are evicted. */
  readonly maxSeries: number;
  /** Maximum number of sources with tracked clock and sequence. */
  readonly maxSources: number;
  /**
   * New series per sender and window; per source if senders are not proven. At most half of maxSeries.
   * @default maxSeries
   */
  readonly maxSeriesPerSource?: number;
  /** 32 bits that senders cannot guess; otherwise they could force hash collisions. @default 0 */
  readonly hashSeed?: number;
  /** Limit of the tables, of which a proven sender gets a share. @default unlimited */
  readonly maxLinks?: number;
  readonly maxChannels?: number;
  readonly maxPods?: number;
}

export interface IngestParts extends SpeakingParts {
  readonly onRefused?: OnRefused;
}

/** Trust in senders. */
export interface SpeakingParts {
  /** Identifies senders. @default nothing is proven, and everyone is trusted */
  readonly speakers?: Speakers;
  /** Permissions of services. @default none */
  readonly policy?: SpeakerPolicy;
  /** @default nothing is known */
  readonly facts?: ClusterFacts;
  /** @default no flow plans */
  readonly flows?: FlowFacts;
  /** @default cluster names are detected */
  readonly clusters?: OwnCluster;
}

/** Called for refusals, to log them with names. */
export type OnRefused = (source: string, reason: string, detail: string) => void;

/** Limits of one sender. */
export function accountLimits(options: IngestOptions, windowMs: number): AccountLimits {
  const { maxSeries, maxSeriesPerSource, maxSources } = options;
  const { maxLinks = Infinity, maxChannels = Infinity, maxPods = Infinity } = options;
  const maxNewSeries =
    maxSeriesPerSource === undefined ? maxSeries : Math.min(maxSeriesPerSource, Math.ceil(maxSeries / 2));
  const tables = { links: maxLinks, pairs: maxLinks, channels: maxChannels, pods: maxPods };
  return { windowMs, maxNewSeries, maxSources, tables };
}
