import { flag, oneOf, section, type Section, type SettingsOf } from "@isochrone/runtime";

const STREAM_STRATEGIES = ["joint", "otfs", "otfa"] as const;

const table = {
  enabled: flag({
    default: false,
    description:
      "Run StreamJobs: create their pods where the strategy wants them, and plan their flows. Needs a cluster; of several replicas one does it.",
  }),
  strategy: oneOf(STREAM_STRATEGIES, {
    default: "joint",
    description:
      "How nodes, routes and rates are chosen. joint is Isochrone's own; otfs and otfa are those of ENTS, to compare. All keep minThroughput of running jobs.",
  }),
  awaitRules: flag({
    default: false,
    description:
      "Start pods of stream jobs only when the network managers of the nodes on their routes have the flow plan. Set it where network managers run.",
  }),
};

/** Settings of the controller of StreamJobs. */
export const streamSettings: Section<"streams", typeof table> = section("streams", table, {
  description: "Runs jobs of dependent tasks, and plans nodes, routes and rates for them.",
});

/** Values of {@link streamSettings}. */
export type StreamsConfig = SettingsOf<typeof streamSettings>;
