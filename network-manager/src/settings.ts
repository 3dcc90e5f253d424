import {
  AGGREGATOR_CLIENT_SETTINGS,
  aggregatorClientRule,
  constant,
  duration,
  integer,
  oneOf,
  section,
  text,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";
import { MODES } from "./ports/modes.ts";

const table = {
  node: text({ description: "Name of the Kubernetes node that the manager runs on." }),
  mode: oneOf(MODES, {
    default: "observe",
    description:
      "What is done with the plan. observe: nothing, it says what guarantee would do. guarantee: each flow has its rate as a floor. shape: as a cap. route: shape, and flows take the plan's paths.",
  }),
  holdMs: duration({
    default: 60_000,
    min: 5_000,
    max: 86_400_000,
    description: "A plan that the aggregator hasn't confirmed for so long is taken back.",
  }),
  ...AGGREGATOR_CLIENT_SETTINGS,
  planCachePath: text({
    default: null,
    description: "File that keeps the last plan, for a start while the aggregator is away.",
  }),
  httpPort: integer({
    default: 7414,
    min: 0,
    max: 65_535,
    description: "Port of /healthz, /readyz, /metrics and, for the node itself, /api/v1/flows; 0 = none.",
  }),
  bindAddress: constant<string>("0.0.0.0", "A pod has one address."),
  planRefreshMs: constant<number>(1_000, "Rates change within two seconds; an answer without news is small."),
  checkMs: constant<number>(10_000, "What others changed in the kernel is put right within it."),
  retryMs: constant<number>(300_000, "A part of the kernel that was missing may have been loaded."),
  lockName: constant<string>("isochrone-network-manager", "One manager to a node's network."),
};

/** Settings of the network manager. */
export const flowsSettings: Section<"flows", typeof table> = section("flows", table, {
  description: "The network manager on each node: what it does with the flow plan.",
  rules: [aggregatorClientRule("flows")],
});

/** What a network manager runs with. */
export type FlowsConfig = SettingsOf<typeof flowsSettings>;
