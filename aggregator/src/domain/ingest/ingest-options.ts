import type { FlowFacts } from "./bind-flow.ts";
import type { OwnCluster } from "./own-cluster.ts";
import type { AccountLimits } from "../speakers/accounts.ts";
import type { ClusterFacts } from "../speakers/authority.ts";
import type { SpeakerPolicy } from "../speakers/policy.ts";
import type { Speakers } from "../speakers/speaker.ts";

export interface IngestOptions {
  /** Maximum time that a point may be ahead of now; less than a pane. */
  readonly maxFutureMs: number;
  readonly maxSeries: number;
  readonly maxSources: number;
  /** At most half of maxSeries; per sender (per source if unproven) and window. @default maxSeries */
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

export interface SpeakingParts {
  /** Identifies senders. @default nothing is proven, and everyone is trusted */
  readonly speakers?: Speakers;
  readonly policy?: SpeakerPolicy;
  readonly facts?: ClusterFacts;
  readonly flows?: FlowFacts;
  readonly clusters?: OwnCluster;
}

export type OnRefused = (source: string, reason: string, detail: string) => void;

export function accountLimits(options: IngestOptions, windowMs: number): AccountLimits {
  const { maxSeries, maxSeriesPerSource, maxSources } = options;
  const { maxLinks = Infinity, maxChannels = Infinity, maxPods = Infinity } = options;
  const maxNewSeries =
    maxSeriesPerSource === undefined ? maxSeries : Math.min(maxSeriesPerSource, Math.ceil(maxSeries / 2));
  const tables = { links: maxLinks, pairs: maxLinks, channels: maxChannels, pods: maxPods };
  return { windowMs, maxSeries, maxNewSeries, maxSources, tables };
}
