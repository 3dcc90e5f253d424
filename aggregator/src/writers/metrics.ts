import { ScrapedMetrics } from "@isochrone/runtime";
import { Counter, type Registry } from "prom-client";

const WRITE_KINDS = ["node", "workload", "configmap"] as const;
export type WriteKind = (typeof WRITE_KINDS)[number];

/** `conflict`: changed by others repeatedly; `gone`: deleted; `disowned`: now another replica's. */
const WRITE_RESULTS = ["written", "conflict", "gone", "disowned", "forbidden", "refused", "failed"] as const;
export type WriteResult = (typeof WRITE_RESULTS)[number];

interface WriterMetricSources {
  readonly pending: (kind: WriteKind) => number;
  /** Seconds; null: no annotations of this kind. */
  readonly oldestAgeSeconds: (kind: WriteKind) => number | null;
  readonly disputed: (kind: WriteKind) => number;
  readonly yielded: (kind: WriteKind) => number;
  /** Returns true while KEP-260's ConfigMap would be too large. */
  readonly isTooLarge: () => boolean;
}

export interface WriterMetrics {
  readonly writes: Counter<"kind" | "result">;
  readonly conflicts: Counter<"kind">;
  readonly skipped: Counter<"reason">;
}

const SKIP_REASONS = ["warming_up", "stale_graph", "no_frame", "name_too_long", "too_large"] as const;

export function createWriterMetrics(registry: Registry, sources: WriterMetricSources): WriterMetrics {
  const registers = [registry];
  const gauges: readonly (readonly [string, string, (kind: WriteKind) => number])[] = [
    [
      "isochrone_aggregator_annotations_pending",
      "Objects that wait to be written by this replica.",
      sources.pending,
    ],
    [
      "isochrone_aggregator_annotations_oldest_age_seconds",
      "Age of the oldest annotations that are this replica's to write; NaN without any.",
      (kind) => sources.oldestAgeSeconds(kind) ?? Number.NaN,
    ],
    [
      "isochrone_aggregator_annotations_disputed",
      "Fields that are left to another field manager, which has another value for them.",
      sources.disputed,
    ],
    [
      "isochrone_aggregator_annotations_yielded",
      "Objects that are left to an aggregator of another installation, which annotates them and began later.",
      sources.yielded,
    ],
  ];
  const scraped = new ScrapedMetrics(registry);
  for (const [name, help, read] of gauges)
    scraped.gauges(name, help, ["kind"], () => WRITE_KINDS.map((kind) => [{ kind }, read(kind)]));
  scraped.gauge(
    "isochrone_aggregator_netperf_config_map_too_large",
    "1 while KEP-260's ConfigMap is left untouched because it would reach 1 MiB.",
    () => (sources.isTooLarge() ? 1 : 0),
  );
  const writes = new Counter({
    name: "isochrone_aggregator_annotation_writes_total",
    help: "Writes to the API server of annotations and of KEP-260's ConfigMap.",
    labelNames: ["kind", "result"],
    registers,
  });
  const conflicts = new Counter({
    name: "isochrone_aggregator_annotation_conflicts_total",
    help: "Fields that turned out to be another field manager's, with another value.",
    labelNames: ["kind"],
    registers,
  });
  const skipped = new Counter({
    name: "isochrone_aggregator_annotation_skipped_total",
    help: "Rounds in which something was left out: all writes (warming_up, stale_graph), coordinates (no_frame), pairs of KEP-260's ConfigMap (name_too_long) or all of it (too_large).",
    labelNames: ["reason"],
    registers,
  });
  for (const kind of WRITE_KINDS) {
    conflicts.inc({ kind }, 0);
    for (const result of WRITE_RESULTS) writes.inc({ kind, result }, 0);
  }
  for (const reason of SKIP_REASONS) skipped.inc({ reason }, 0);
  return { writes, conflicts, skipped };
}
