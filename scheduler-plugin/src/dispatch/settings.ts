import { constant, list, section, type Section, type SettingsOf } from "@isochrone/runtime";

/** By what the controller may spread requests; without one it only advises. */
const LEVERS = ["hints", "istio"];

const table = {
  levers: list({
    default: [],
    description:
      "By what requests may be spread over zones, for Services that ask for it by isochrone.dev/dispatch: hints (of EndpointSlices; needs webhook.enabled), istio (a DestinationRule for each). Without one nothing is written.",
  }),
  roundMs: constant(30_000, "Rates are means over minutes: more often there is nothing new."),
};

/** Settings of what spreads requests over zones. */
export const dispatchSettings: Section<"dispatch", typeof table> = section("dispatch", table, {
  description: "Spreads the requests of Services over zones, by what each zone asks and can serve.",
  rules: [
    ({ levers }) => {
      const unknown = levers.find((lever) => !LEVERS.includes(lever));
      return unknown === undefined ? null : `levers must be of ${LEVERS.join(", ")}, got ${unknown}`;
    },
  ],
});

/** Values of {@link dispatchSettings}. */
export type DispatchConfig = SettingsOf<typeof dispatchSettings>;
