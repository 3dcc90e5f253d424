// What the graph API says of the past, and of the aggregator itself.
import { Type, type Static } from "typebox";
import { NullableNumber, NullableString } from "./schema.ts";

/** Which moments `?at=` reaches. */
export const GraphHistorySchema = Type.Object(
  {
    keptSeconds: Type.Number({ description: "how far back it reaches at most" }),
    times: Type.Array(Type.String({ description: "RFC 3339" }), {
      description: "moments that are kept, oldest first; in between, ?at= gives the one before",
    }),
  },
  { $id: "GraphHistory" },
);

/** How one ordered pair of nodes was, over the kept history. */
export const LinkHistorySchema = Type.Object(
  {
    source: Type.String(),
    target: Type.String(),
    method: NullableString("by which it was measured; null where nothing of the pair is kept"),
    points: Type.Array(
      Type.Object({
        at: Type.String({ description: "RFC 3339" }),
        p50Ms: NullableNumber("median round trip, milliseconds"),
        p90Ms: NullableNumber("milliseconds"),
        p99Ms: NullableNumber("milliseconds"),
        lossRatio: NullableNumber("0 to 1"),
        costMs: NullableNumber("milliseconds"),
      }),
    ),
  },
  { $id: "LinkHistory" },
);

const Count = (description: string) => Type.Number({ description });
const Reasons = (description: string) => Type.Record(Type.String(), Type.Number(), { description });

/** How the aggregator that answers is. */
export const HealthSchema = Type.Object(
  {
    observedAt: Type.String({ description: "RFC 3339" }),
    ready: Type.Boolean(),
    reasons: Type.Array(Type.String(), { description: "why it isn't ready" }),
    version: NullableNumber("of the newest graph; null before the first"),
    graphAgeSeconds: NullableNumber("age of the newest graph"),
    buildFailures: Count("builds of graphs that failed; the graph before stays"),
    intake: Type.Object({
      records: Count("taken off the bus"),
      points: Count("in time and new"),
      missing: Count("records that a publisher numbered and that never came"),
      publisherDropped: Count("records that publishers say they dropped"),
      tooLate: Count("points older than the window"),
      duplicates: Count("records and points that came again"),
      deadLetters: Count("records that could not be used"),
      refused: Reasons("points or records that were refused, by reason"),
      unused: Reasons("points that no graph is drawn from, by reason"),
    }),
    sizes: Type.Object({
      series: Count("in memory"),
      links: Count("in memory"),
      channels: Count("in memory"),
      pods: Count("in memory"),
      eventClients: Count("clients of the event stream"),
    }),
    probing: Type.Object({
      plannedPairs: NullableNumber("ordered pairs of nodes that the plans probe"),
      uncoveredZones: NullableNumber("pairs of a node and another zone in which it probes nobody"),
    }),
    sampleAgeSeconds: NullableNumber("mean age of samples when they got into the windows, since the start"),
    replicas: Type.Object({
      replica: NullableString("name of the one that answers"),
      live: NullableNumber("replicas with a lease that holds; null where there is but one"),
      isLeader: Type.Union([Type.Boolean(), Type.Null()]),
      ownedPartitions: NullableNumber("input partitions of the one that answers; null without shared topics"),
      lag: Type.Array(
        Type.Object({ topic: Type.String(), partition: Type.String(), records: Type.Number() }),
        {
          description: "records that it has not read yet, by partition",
        },
      ),
    }),
    clocks: Type.Array(Type.Object({ source: Type.String(), skewSeconds: Type.Number() }), {
      description: "sources whose clocks are furthest off, at most 20",
    }),
  },
  { $id: "Health" },
);

export type GraphHistory = Static<typeof GraphHistorySchema>;
export type LinkHistory = Static<typeof LinkHistorySchema>;
export type Health = Static<typeof HealthSchema>;
