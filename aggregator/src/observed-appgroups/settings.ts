import { constant, flag, section, type SettingsOf } from "@isochrone/runtime";

/** How AppGroups are drawn from observed workflows. */
export const appGroupsSettings = section(
  "appGroups",
  {
    observe: flag({
      default: true,
      description:
        "Whether AppGroups are generated for namespaces and workloads with the annotation isochrone.dev/appgroup: observe. false: those that were generated are deleted.",
    }),
    checkIntervalMs: constant(
      30_000,
      "No documented case changes this default; needs are quantiles of an hour.",
    ),
    windowMs: constant(3_600_000, "No documented case changes this default."),
    quantile: constant(0.9, "No documented case changes this default."),
    marginRatio: constant(
      0.25,
      "The declared bandwidth must be above what was seen; an AppGroup of one's own says more.",
    ),
    sortingAlgorithm: constant(
      "ReverseKahn",
      "Upstream's plugin looks only at dependencies that are placed already.",
    ),
    defaultMaxNetworkCost: constant(10_000, "It is upstream's largest value, which is no limit."),
  },
  { description: "AppGroups generated from observed workflows, written by the aggregator that leads." },
);

/** Values of {@link appGroupsSettings}. */
export type AppGroupsConfig = SettingsOf<typeof appGroupsSettings>;
