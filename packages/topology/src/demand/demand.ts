import { Type, type Static } from "typebox";
import { checkFigures, checkRatio, checkSchema, compiledLate } from "../validation.ts";
import { NullableNumber, NullableString } from "../schema.ts";

const ZoneDemandSchema = Type.Object(
  {
    zone: NullableString("topology.kubernetes.io/zone of the callers' nodes; null: they have none"),
    requestsPerSecond: Type.Number({
      minimum: 0,
      description:
        "by the callers' proxies; of callers in another namespace at most what the proxies at the Service's end counted",
    }),
    errorRatio: NullableNumber("share answered with 5xx or not at all; null without requests"),
    inTimeRatio: NullableNumber(
      "share answered within the deadline, and not by a failure; null without a deadline or requests",
    ),
    latencyMs: Type.Object(
      {
        p50: NullableNumber("milliseconds; null where it is not known, or above 10 s"),
        p90: NullableNumber("milliseconds"),
        p99: NullableNumber("milliseconds"),
      },
      { description: "of requests that did not fail, as the callers' proxies measure it" },
    ),
    ageSeconds: NullableNumber("age of the newest sample"),
  },
  { $id: "ZoneDemand" },
);

const ServiceDemandSchema = Type.Object(
  {
    namespace: Type.String(),
    name: Type.String(),
    deadlineMs: NullableNumber("annotation isochrone.dev/deadline of the Service, milliseconds"),
    zones: Type.Array(ZoneDemandSchema, { description: "by zone of the callers, the zones in order" }),
  },
  { $id: "ServiceDemand" },
);

export const DemandSchema = Type.Object(
  {
    version: Type.Integer(),
    observedAt: Type.String({ description: "when it was built, RFC 3339" }),
    windowSeconds: Type.Number(),
    services: Type.Array(ServiceDemandSchema),
  },
  { $id: "Demand" },
);

export type Demand = Static<typeof DemandSchema>;
export type ServiceDemand = Static<typeof ServiceDemandSchema>;
export type ZoneDemand = Static<typeof ZoneDemandSchema>;

const DOCUMENT = "demand";
const schema = compiledLate(DemandSchema);

/** Validates a demand graph. Throws SnapshotError. */
export function parseDemand(json: unknown): Demand {
  checkSchema(DOCUMENT, schema, json);
  for (const [index, { zones }] of json.services.entries())
    for (const [at, zone] of zones.entries()) {
      const path = `services[${index}].zones[${at}]`;
      checkFigures(DOCUMENT, path, zone, ["requestsPerSecond", "ageSeconds"]);
      checkFigures(DOCUMENT, `${path}.latencyMs`, zone.latencyMs, ["p50", "p90", "p99"]);
      checkRatio(DOCUMENT, `${path}.errorRatio`, zone.errorRatio);
      checkRatio(DOCUMENT, `${path}.inTimeRatio`, zone.inTimeRatio);
    }
  return json;
}
