import type { ExponentialHistogramData } from "@isochrone/telemetry";
import { recordOf } from "@isochrone/primitives";
import type { PointTime } from "../point-time.ts";

/** Destination of a series' points. Bound to the series, so that points need no look-up. */
export interface Sink {
  /** False: its target expired; bind the series again. */
  readonly live: boolean;
  /** Reason that the points are unused; null: they are used. */
  readonly unused: Unused | NotYours | null;
  number?(point: PointTime, value: number): void;
  histogram?(point: PointTime, count: number, sum: number): void;
  /** Returns false for inconsistent data, and takes none of it. */
  exponentialHistogram?(point: PointTime, data: ExponentialHistogramData): boolean;
  /** Called when the series is gone or bound again; frees its resources. */
  release?(): void;
}

/** Reasons for unused points; values of a metric label. */
export const UNUSED = [
  "unknown_metric",
  "unattributed",
  "too_many_links",
  "too_many_channels",
  "too_many_pods",
  "other_cluster",
  "unknown_node",
  "unknown_pod",
  /** A node interface that cannot be identified as physical by its name or the kernel. */
  "unclear_interface",
  "sampling_unset",
] as const;
export type Unused = (typeof UNUSED)[number];
type NotYours = "not_yours";

export const UNUSED_SINKS: Readonly<Record<Unused, Sink>> = recordOf(UNUSED, (unused) => ({
  live: true,
  unused,
}));

export const NOT_YOURS: Sink = { live: true, unused: "not_yours" };

/** Temporary reasons: room is freed, a node joins, a pod starts. */
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

/** Sinks for temporary reasons. They end together, and their series are then bound again. */
export class PassingSinks {
  #sinks = new Map<Sink, PassingSink>();

  /** Returns a stand-in until the next `end`, or the sink itself if its reason is permanent. */
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
