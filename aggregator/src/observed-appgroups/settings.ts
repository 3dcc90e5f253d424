import { duration, flag, integer, oneOf, ratio, section, type SettingsOf } from "@isochrone/runtime";

/** How AppGroups are drawn from observed workflows. */
export const appGroupsSettings = section(
  "appGroups",
  {
    observe: flag({
      default: true,
      description:
        "Whether AppGroups are generated for namespaces and workloads with the annotation isochrone.dev/appgroup: observe. false: those that were generated are deleted.",
    }),
    checkIntervalMs: duration({
      default: 30_000,
      min: 100,
      max: 3_600_000,
      description: "How often channels are sampled and AppGroups compared with them.",
    }),
    windowMs: duration({
      default: 3_600_000,
      min: 1000,
      max: 86_400_000,
      description:
        "Time over which needs are observed. A dependency that was not seen for so long is dropped; nothing is lowered or dropped before it has passed once.",
    }),
    quantile: ratio({
      default: 0.9,
      description: "Which quantile of the samples counts as the need.",
    }),
    marginRatio: ratio({
      default: 0.25,
      description: "Share that minBandwidth adds to the need.",
    }),
    sortingAlgorithm: oneOf(
      ["KahnSort", "TarjanSort", "ReverseKahn", "ReverseTarjan", "AlternateKahn", "AlternateTarjan"],
      {
        default: "ReverseKahn",
        description:
          "topologySortingAlgorithm of generated AppGroups. Reverse orders place dependencies before what depends on them: upstream's plugin looks only at dependencies that are placed already.",
      },
    ),
    defaultMaxNetworkCost: integer({
      default: 10_000,
      min: 0,
      max: 10_000,
      description:
        "maxNetworkCost of dependencies for which none is declared; the default, upstream's largest, is no limit. Left out it would be 0 by upstream's schema, and its plugin would count every pair across zones as violated.",
    }),
  },
  { description: "AppGroups generated from observed workflows, written by the aggregator that leads." },
);

/** Values of {@link appGroupsSettings}. */
export type AppGroupsConfig = SettingsOf<typeof appGroupsSettings>;
