import type { ExponentialHistogramData } from "@isochrone/telemetry";
import { recordOf } from "@isochrone/primitives";
import type { PointTime } from "../point-time.ts";

/**
 * What the points of one series flow into. It hangs on the series, so that nothing is looked up per point.
 */
export interface Sink {
  /** False: what it fed was dropped for being silent; bind the series anew. */
  readonly live: boolean;
  /** Why the series' points are not used; null when they are. */
  readonly unused: Unused | NotYours | null;
  number?(point: PointTime, value: number): void;
  histogram?(point: PointTime, count: number, sum: number): void;
  /** False for numbers that contradict each other: nothing was taken. */
  exponentialHistogram?(point: PointTime, data: ExponentialHistogramData): boolean;
  /** Its series is gone, or bound anew: gives back what it took. */
  release?(): void;
}

/** Why the points of a series are not used; a label of metrics. */
export const UNUSED = [
  "unknown_metric",
  "unattributed",
  "too_many_links",
  "too_many_channels",
  "too_many_pods",
  /** It says that it is of another cluster. */
  "other_cluster",
  /** A node that the cluster doesn't have, or not yet. */
  "unknown_node",
  /** An address or a name of a pod that the cluster doesn't have, or not yet. */
  "unknown_pod",
  /** An interface of a node that another one may carry: neither its name nor the node's kernel tells. */
  "unclear_interface",
  /** One of so many packets was counted, and nothing says of how many. */
  "sampling_unset",
] as const;
export type Unused = (typeof UNUSED)[number];
/** The speaker may not speak of that: its points are refused. */
type NotYours = "not_yours";

/** A sink that takes nothing, for each reason. */
export const UNUSED_SINKS: Readonly<Record<Unused, Sink>> = recordOf(UNUSED, (unused) => ({
  live: true,
  unused,
}));

/** Takes nothing, because the speaker may not speak of what the series is about. */
export const NOT_YOURS: Sink = { live: true, unused: "not_yours" };

/** Reasons that may pass: room is made, a node joins, a pod starts. */
const PASSING: ReadonlyMap<Sink, Unused | NotYours> = new Map<Sink, Unused | NotYours>([
  ...(
    [
      "too_many_links",
      "too_many_channels",
      "too_many_pods",
      "unknown_node",
      "unknown_pod",
      "other_cluster",
    ] as const
  ).map((unused) => [UNUSED_SINKS[unused], unused] as const),
  [NOT_YOURS, "not_yours"],
]);

interface PassingSink {
  live: boolean;
  readonly unused: Unused | NotYours;
}

/** Sinks that take nothing for reasons that may pass. They end together: their series are bound anew then. */
export class PassingSinks {
  #sinks = new Map<Sink, PassingSink>();

  /** What stands for the sink until the next `end`; the sink itself, when its reason is for good. */
  of(sink: Sink): Sink {
    const unused = PASSING.get(sink);
    if (unused === undefined) return sink;
    let passing = this.#sinks.get(sink);
    if (passing === undefined) this.#sinks.set(sink, (passing = { live: true, unused }));
    return passing;
  }

  end(): void {
    for (const sink of this.#sinks.values()) sink.live = false;
    this.#sinks = new Map();
  }
}
