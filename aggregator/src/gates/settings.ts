import { constant, duration, flag, section, type SettingsOf } from "@isochrone/runtime";
import { GATE_DEADLINE_MS } from "@isochrone/kubernetes";

/** Who opens gates that nobody opened. */
export const gatesSettings = section(
  "gates",
  {
    enabled: flag({
      default: true,
      description:
        "Open the gate isochrone.dev/placement of pods that have waited for too long, whoever set it: kube-scheduler never does. It stays on when webhook and planner are switched off, so that no pod is left waiting.",
    }),
    deadlineMs: duration({
      default: GATE_DEADLINE_MS,
      min: 1_000,
      max: 86_400_000,
      description:
        "How long after its creation a pod that waits for nobody else loses the gate. Time in which it waited for the gates of others too doesn't count.",
    }),
    checkIntervalMs: constant(1_000, "It is a second, the least gates.deadlineMs."),
    maxOpensPerSecond: constant(
      20,
      "It is a bound for bursts at kube-scheduler; the oldest pods come first.",
    ),
  },
  { description: "Gates past their deadline, opened by the aggregator that leads." },
);

/** Values of {@link gatesSettings}. */
export type GatesConfig = SettingsOf<typeof gatesSettings>;
