import {
  AGGREGATOR_CLIENT_SETTINGS,
  aggregatorClientRule,
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
};

/** Settings of the network manager. */
export const flowsSettings: Section<"flows", typeof table> = section("flows", table, {
  description: "The network manager on each node: what it does with the flow plan.",
  retired: ["bindAddress", "checkMs", "lockName", "planRefreshMs", "retryMs"],
  rules: [aggregatorClientRule("flows")],
});

export interface FlowsConfig extends SettingsOf<typeof flowsSettings> {
  /** Milliseconds between checks of the kernel. @default 10000 */
  readonly checkMs?: number;
}
