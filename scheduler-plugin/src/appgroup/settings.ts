import { constant, oneOf } from "@isochrone/runtime";

/** Who keeps the status of AppGroups. */
export const APP_GROUP_SETTINGS = {
  appGroupStatus: oneOf(["isochrone", "upstream"], {
    default: "isochrone",
    description:
      "Who writes the status of AppGroups. upstream: its own controller (appgroup-controller), and Isochrone writes nothing; never let both write.",
  }),
  appGroupIntervalMs: constant(5_000, "It only delays counts of pods; a new order is written at once."),
};
