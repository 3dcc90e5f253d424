import { duration, oneOf } from "@isochrone/runtime";

/** Who keeps the status of AppGroups. */
export const APP_GROUP_SETTINGS = {
  appGroupStatus: oneOf(["isochrone", "upstream"], {
    default: "isochrone",
    description:
      "Who writes the status of AppGroups. upstream: its own controller (appgroup-controller), and Isochrone writes nothing; never let both write.",
  }),
  appGroupIntervalMs: duration({
    default: 5_000,
    min: 0,
    max: 3_600_000,
    description:
      "Least time between two writes of one AppGroup's status when only pods have come or gone; a new order is written at once.",
  }),
};
