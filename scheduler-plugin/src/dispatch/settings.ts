import { constant, integer, list, section, type Section, type SettingsOf } from "@isochrone/runtime";

/** Means by which the controller may spread requests and replicas; without one it only advises. */
const LEVERS = ["hints", "istio", "replicas", "scale", "deletion-cost"];
/** They carry out what `replicas` works out. */
const REPLICA_WRITES = ["scale", "deletion-cost"];

const table = {
  levers: list({
    default: [],
    description:
      "By what requests may be spread over zones, for Services that ask for it by isochrone.dev/dispatch: hints (of EndpointSlices; needs webhook.enabled), istio (a DestinationRule for each). And what may be done about replicas, for those that ask for it by isochrone.dev/replicas: replicas (works them out, and has autoscalers told), scale (Deployments), deletion-cost (says which pod goes); the last two need replicas. Without one nothing is written.",
  }),
  changes: integer({
    default: 10,
    min: 1,
    max: 1_000,
    description: "Replicas that are added and removed in one frame of 30 s at most, of all Services.",
  }),
  coolDownMs: constant(120_000, "Pods take so long to start, and rates to tell what they brought."),
  surplusMs: constant(300_000, "It is the stabilization window of a HorizontalPodAutoscaler."),
  roundMs: constant(30_000, "Rates are means over minutes: more often there is nothing new."),
};

/** Settings of what spreads requests over zones. */
export const dispatchSettings: Section<"dispatch", typeof table> = section("dispatch", table, {
  description:
    "Spreads the requests of Services over zones, and their replicas, by what each zone asks and can serve.",
  rules: [
    ({ levers }) => {
      const unknown = levers.find((lever) => !LEVERS.includes(lever));
      return unknown === undefined ? null : `levers must be of ${LEVERS.join(", ")}, got ${unknown}`;
    },
    ({ levers }) => {
      const alone = REPLICA_WRITES.find((each) => levers.includes(each) && !levers.includes("replicas"));
      return alone === undefined
        ? null
        : `levers must have replicas where it has ${alone}, got ${levers.join(", ")}`;
    },
  ],
});

/** Values of {@link dispatchSettings}. */
export type DispatchConfig = SettingsOf<typeof dispatchSettings>;
