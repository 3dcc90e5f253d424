// A public contract: extend, don't rename.
import { Type, type Static } from "typebox";
import { NullableNumber, NullableString } from "../schema.ts";
import { checkSchema, compiledLate } from "../validation.ts";

const ZoneReplicasSchema = Type.Object(
  {
    zone: Type.String(),
    requestsPerSecond: Type.Number({ description: "that its callers ask" }),
    forecastPerSecond: Type.Number({ description: "mean of the last frames, and how far they scatter" }),
    replicas: Type.Integer({ description: "there now, those that start included" }),
    wanted: Type.Integer(),
    inTimeRatio: NullableNumber(
      "share of its requests in time that the forecast expects of the replicas there are; null without requests",
    ),
    reason: NullableString("why another number is wanted; null: it is as wanted"),
  },
  { $id: "ZoneReplicas" },
);

const ReplicaChangeSchema = Type.Object(
  {
    kind: Type.Union([Type.Literal("add"), Type.Literal("remove")]),
    zone: Type.String(),
    reason: Type.String({ description: "in words" }),
    isDone: Type.Boolean({ description: "false: it is a proposal, or the write failed" }),
  },
  { $id: "ReplicaChange" },
);

const ServiceReplicasSchema = Type.Object(
  {
    namespace: Type.String(),
    name: Type.String(),
    mode: Type.Union(
      [Type.Literal("proposal"), Type.Literal("metric"), Type.Literal("scale"), Type.Literal("none")],
      { description: "annotation isochrone.dev/replicas; none: it can't be read" },
    ),
    state: Type.Union(
      [
        Type.Literal("steady"),
        Type.Literal("changing"),
        Type.Literal("waiting"),
        Type.Literal("idle"),
        Type.Literal("refused"),
        Type.Literal("stale"),
      ],
      {
        description:
          "steady: as wanted; changing: changes were chosen in this frame; waiting: others are wanted, but not yet; idle: no requests or no endpoints; refused: see refused; stale: the demand is too old",
      },
    ),
    refused: Type.Union([Type.Object({ reason: Type.String(), message: Type.String() }), Type.Null()], {
      description: "why nothing is worked out, or not carried out; null: it is",
    }),
    workload: Type.Union([Type.Object({ kind: Type.String(), name: Type.String() }), Type.Null()], {
      description: "of the pods behind the Service; null: not known",
    }),
    capacityPerSecond: NullableNumber("requests that one replica serves, annotation isochrone.dev/capacity"),
    replicas: Type.Union([Type.Integer(), Type.Null()], { description: "null: not known" }),
    wanted: Type.Union([Type.Integer(), Type.Null()], { description: "of all zones; null: not known" }),
    zones: Type.Array(ZoneReplicasSchema, { description: "those with requests or replicas, in order" }),
    changes: Type.Array(ReplicaChangeSchema, { description: "of the newest frame" }),
  },
  { $id: "ServiceReplicas" },
);

export const ReplicaReportSchema = Type.Object(
  {
    frameAt: NullableString("when the newest frame was worked out, RFC 3339; null: none yet"),
    frameSeconds: Type.Number({ description: "time between two frames" }),
    changesPerFrame: Type.Integer({ description: "at most, of all Services" }),
    leads: Type.Boolean({ description: "whether this replica is the one that carries changes out" }),
    trouble: NullableString("why nothing is worked out at all; null: it is"),
    services: Type.Array(ServiceReplicasSchema, {
      description: "those with the annotation isochrone.dev/replicas, in order",
    }),
  },
  { $id: "ReplicaReport" },
);

export type ReplicaReport = Static<typeof ReplicaReportSchema>;

const DOCUMENT = "replicas";
const reportSchema = compiledLate(ReplicaReportSchema);

/** Validates a replica report. Throws SnapshotError. */
export function parseReplicaReport(json: unknown): ReplicaReport {
  const report = json;
  checkSchema(DOCUMENT, reportSchema, report);
  return report;
}
