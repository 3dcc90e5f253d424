// A public contract: extend, don't rename.
import { Type, type Static } from "typebox";
import { SnapshotError } from "../errors.ts";
import { NullableString } from "../schema.ts";
import { checkRatio, checkSchema, compiledLate } from "../validation.ts";

const MAX_SERVICES = 10_000;
const NullableAmount = (description: string) =>
  Type.Union([Type.Number({ minimum: 0 }), Type.Null()], { description });
const NullableCount = (description: string) =>
  Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description });
const Shares = (description: string) =>
  Type.Union([Type.Record(Type.String(), Type.Number({ minimum: 0 })), Type.Null()], { description });

const ZoneTrafficSchema = Type.Object({
  zone: NullableString("topology.kubernetes.io/zone; null: callers whose nodes have none"),
  requestsPerSecond: Type.Number({ minimum: 0, description: "that the zone asks; 0: it asks nothing" }),
  inTimeRatio: NullableAmount("share answered within the deadline; null without a deadline or requests"),
  p50Ms: NullableAmount("as callers of the zone measure it, milliseconds"),
  endpoints: NullableCount("ready ones; null: unknown"),
  loadRatio: NullableAmount("requests per second that its endpoints get now, of what they serve"),
  advisedLoadRatio: NullableAmount("the same with the weights that are advised"),
  now: Shares("where its requests go, by zone of the endpoints; null: unknown"),
  advised: Shares("where they should go; null: there is no advice"),
  proposedEndpoints: Type.Optional(NullableCount("replicas that the orchestrator proposes; null: none")),
});

const ServiceTrafficSchema = Type.Object({
  namespace: Type.String(),
  name: Type.String(),
  lever: NullableString(
    "what spreads its requests: advise, hints, istio, dispatcher; null: nothing is asked for",
  ),
  state: NullableString("steady, moving, idle, refused, stale; null: nobody looks at it"),
  message: NullableString("why there is no advice; null: there is, or nothing is asked for"),
  deadlineMs: NullableAmount("annotation isochrone.dev/deadline of the Service, milliseconds"),
  capacityPerSecond: NullableAmount("requests per second that one endpoint is taken to serve"),
  abovePerSecond: NullableAmount("requests per second above the capacity of all endpoints"),
  zones: Type.Array(ZoneTrafficSchema, { description: "that call it or have endpoints, in order" }),
});

export const ServiceTrafficListSchema = Type.Object(
  { services: Type.Array(ServiceTrafficSchema, { maxItems: MAX_SERVICES }) },
  { $id: "ServiceTrafficList" },
);

export const TrafficSchema = Type.Object(
  {
    observedAt: Type.String({ format: "date-time" }),
    windowSeconds: Type.Number({ description: "of which rates are means" }),
    dispatch: Type.Object({
      isOn: Type.Boolean({ description: "whether a scheduler-plugin spreads requests, and says how" }),
      message: NullableString("why nobody does; null: somebody does"),
    }),
    services: Type.Array(ServiceTrafficSchema),
  },
  { $id: "Traffic" },
);

export type ZoneTraffic = Static<typeof ZoneTrafficSchema>;
export type ServiceTraffic = Static<typeof ServiceTrafficSchema>;
export type TrafficSnapshot = Static<typeof TrafficSchema>;

const LIST = "traffic of Services";
const listSchema = compiledLate(ServiceTrafficListSchema);
const trafficSchema = compiledLate(TrafficSchema);

/** Validates the document. Throws SnapshotError. */
export function parseTraffic(json: unknown): TrafficSnapshot {
  const traffic = json;
  checkSchema("traffic", trafficSchema, traffic);
  checkRatios("traffic", traffic.services);
  return traffic;
}

/** Validates the document. Throws SnapshotError. */
export function parseServiceTraffic(json: unknown): readonly ServiceTraffic[] {
  const list = json;
  checkSchema(LIST, listSchema, list);
  const names = new Set<string>();
  for (const [index, { namespace, name }] of list.services.entries()) {
    const key = `${namespace}/${name}`;
    if (names.has(key)) throw new SnapshotError(LIST, `services[${index}].name`, "must be unique", key);
    names.add(key);
  }
  checkRatios(LIST, list.services);
  return list.services;
}

function checkRatios(document: string, services: readonly ServiceTraffic[]): void {
  for (const [index, { zones }] of services.entries())
    for (const [at, { inTimeRatio, now, advised }] of zones.entries()) {
      const path = `services[${index}].zones[${at}]`;
      checkRatio(document, `${path}.inTimeRatio`, inTimeRatio);
      for (const share of [...Object.values(now ?? {}), ...Object.values(advised ?? {})])
        checkRatio(document, `${path}.now`, share);
    }
}
