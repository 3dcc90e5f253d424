import { Type, type Static } from "typebox";
import { ClusterGraphSchema, MethodSchema, NullableNumber, NullableString } from "./schema.ts";

export const GraphHistorySchema = Type.Object(
  {
    keptSeconds: Type.Number({ description: "how far back it reaches at most" }),
    times: Type.Array(Type.String({ description: "RFC 3339" }), {
      description: "moments that are kept, oldest first; in between, ?at= gives the one before",
    }),
  },
  { $id: "GraphHistory" },
);

const DepartureKindSchema = Type.Union([Type.Literal("latency"), Type.Literal("loss")]);

const DeparturesSchema = Type.Object(
  {
    pairs: Type.Array(
      Type.Object({
        source: Type.String({ description: "the node whose name comes first" }),
        target: Type.String({ description: "the other node" }),
        kind: DepartureKindSchema,
        since: Type.String({ description: "RFC 3339" }),
        now: Type.Number({ description: "milliseconds of a round trip, or ratio of lost packets, 0 to 1" }),
        before: Type.Number({ description: "the baseline, likewise" }),
        error: Type.Number({ description: "how far `now` may be off, likewise" }),
        acceptedAt: Type.String({ description: "when `now` becomes the baseline, RFC 3339" }),
        workloads: Type.Array(Type.String(), {
          description: "channels over the pair, the busiest first, such as `shop/web -> shop/db`; 3 at most",
        }),
      }),
      { description: "the largest increase first; 20 of each kind at most" },
    ),
    counts: Type.Object(
      { latency: Type.Integer(), loss: Type.Integer() },
      { description: "departed pairs by kind; of a common departure, all pairs above their baseline" },
    ),
    common: Type.Array(
      Type.Object({
        kind: DepartureKindSchema,
        since: Type.String({ description: "RFC 3339" }),
        pairs: Type.Integer({ description: "pairs above their baseline" }),
        all: Type.Integer({ description: "pairs with a baseline" }),
      }),
      { description: "what raises most pairs at once: the machines, or the whole network" },
    ),
  },
  { $id: "Departures" },
);

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

const Numbers = (description: string) => Type.Array(Type.Number(), { description });
const NullableNumbers = (description: string) =>
  Type.Array(Type.Union([Type.Number(), Type.Null()]), { description });

/** Links as columns of equal length, with the figures for drawing. */
export const ClusterColumnsSchema = Type.Object(
  {
    ...Type.Omit(ClusterGraphSchema, ["links", "nextCursor"]).properties,
    links: Type.Object(
      {
        source: Numbers("position among the nodes"),
        target: Numbers("position among the nodes"),
        method: Numbers("position among the methods"),
        ipFamily: Numbers("4 or 6"),
        origin: Numbers("position among the origins"),
        provisional: Numbers("1: younger than the window, or too few samples"),
        p50Ms: NullableNumbers("milliseconds, to the microsecond as all of them"),
        p90Ms: NullableNumbers("milliseconds"),
        p99Ms: NullableNumbers("milliseconds"),
        count: Numbers("samples in the window"),
        lossRatio: NullableNumbers("0 to 1"),
        costMs: NullableNumbers("milliseconds"),
        errorMs: NullableNumbers("milliseconds"),
        ageSeconds: NullableNumbers("age of the newest sample"),
        methods: Type.Array(Type.String()),
        origins: Type.Array(Type.String()),
      },
      { description: "in the order of the graph's links" },
    ),
  },
  { $id: "ClusterColumns" },
);

/** Distributions of round-trip times of one ordered pair in the window. */
export const LinkDistributionsSchema = Type.Object(
  {
    source: Type.String(),
    target: Type.String(),
    observedAt: Type.String({ description: "RFC 3339" }),
    windowSeconds: Type.Number(),
    distributions: Type.Array(
      Type.Object({
        method: MethodSchema,
        ipFamily: Type.Union([Type.Literal(4), Type.Literal(6)]),
        count: Type.Integer({ description: "answers" }),
        minMs: NullableNumber("milliseconds, exact"),
        maxMs: NullableNumber("milliseconds, exact"),
        buckets: Type.Array(
          Type.Object({
            fromMs: Type.Number({ description: "above this, milliseconds" }),
            toMs: Type.Number({ description: "up to and including this, milliseconds" }),
            count: Type.Integer(),
          }),
          { description: "those that hold something, 1.1 % wide each, in order" },
        ),
      }),
      { description: "of each method that got an answer; the one that costs come from first" },
    ),
    counts: Type.Optional(
      Type.Array(
        Type.Object({
          method: MethodSchema,
          ipFamily: Type.Union([Type.Literal(4), Type.Literal(6)]),
          answeredAt: NullableString("time of the newest answer, RFC 3339, however old; null: none is known"),
          panes: Type.Array(
            Type.Object({
              at: Type.String({ description: "where the pane begins, RFC 3339" }),
              received: Type.Integer({ description: "packets that were answered in time" }),
              failed: Type.Integer({ description: "packets that were lost, or could not be sent" }),
              p50Ms: NullableNumber("median round trip, milliseconds; null without an answer"),
            }),
            {
              description:
                "oldest first; a pane that nothing was heard in is left out: it says nothing of the link",
            },
          ),
        }),
        {
          description:
            "what became of the packets, of each method that was tried, answered or not; in the order of distributions",
        },
      ),
    ),
  },
  { $id: "LinkDistributions" },
);

const Count = (description: string) => Type.Number({ description });
const Reasons = (description: string) => Type.Record(Type.String(), Type.Number(), { description });

const LagSchema = Type.Array(
  Type.Object({ topic: Type.String(), partition: Type.String(), records: Type.Number() }),
  { description: "records that it has not read yet, by partition" },
);

const ReplicaHealthSchema = Type.Object(
  {
    replica: Type.String({ description: "name" }),
    problem: NullableString("why it could not be asked; null: it answered"),
    ready: Type.Union([Type.Boolean(), Type.Null()]),
    isLeader: Type.Union([Type.Boolean(), Type.Null()]),
    version: NullableNumber("of its newest graph"),
    graphAgeSeconds: NullableNumber("age of its newest graph"),
    lag: LagSchema,
  },
  { $id: "ReplicaHealth" },
);

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
      refused: Reasons("points or records that were refused since the start, by reason"),
      refusedNow: Type.Optional(
        Type.Array(
          Type.Object({
            source: Type.String({ description: "who sent them, as far as it is proven" }),
            reason: Type.String(),
            refused: Count("points or records"),
          }),
          { description: "refused within the newest window, the most first; 20 at most" },
        ),
      ),
      unused: Reasons("points that no graph is drawn from since the start, by reason"),
      unusedNow: Type.Optional(
        Type.Array(
          Type.Object({
            reason: Type.String(),
            points: Count("points"),
            example: Type.String({ description: "a metric of these" }),
            remedy: Type.String({ description: "what they are, and what to do about them" }),
          }),
          { description: "left out within the newest window, the most first" },
        ),
      ),
      clusters: Type.Optional(
        Type.Array(
          Type.Object({
            name: Type.String(),
            isOwn: Type.Boolean({ description: "whether it is a name of this cluster" }),
            series: Count("series that named it since the start"),
          }),
          { description: "clusters that telemetry names, the most series first; 20 at most" },
        ),
      ),
    }),
    sizes: Type.Object({
      series: Count("in memory"),
      links: Count("in memory"),
      channels: Count("in memory"),
      pods: Count("in memory"),
      eventClients: Count("clients of the event stream"),
      ambiguousNames: Type.Optional(
        Count("names in use by traffic sources that several workloads have: no workload's traffic"),
      ),
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
      lag: LagSchema,
      all: Type.Optional(
        Type.Array(ReplicaHealthSchema, {
          description: "all live replicas in their own words, this one first; with ?replicas=all",
        }),
      ),
    }),
    departures: Type.Optional(DeparturesSchema),
    clocks: Type.Array(Type.Object({ source: Type.String(), skewSeconds: Type.Number() }), {
      description: "sources whose clocks are furthest off, at most 20",
    }),
  },
  { $id: "Health" },
);

export type GraphHistory = Static<typeof GraphHistorySchema>;
export type ClusterColumns = Static<typeof ClusterColumnsSchema>;
export type LinkHistory = Static<typeof LinkHistorySchema>;
export type LinkDistributions = Static<typeof LinkDistributionsSchema>;
export type ReplicaHealth = Static<typeof ReplicaHealthSchema>;
export type Departures = Static<typeof DeparturesSchema>;
export type Health = Static<typeof HealthSchema>;
