import { constant, oneOf, section, type SettingsOf } from "@isochrone/runtime";

/** How nodes' bandwidth is advertised to kube-scheduler. */
export const bandwidthResourceSettings = section(
  "bandwidthResource",
  {
    advertise: oneOf(["off", "declared", "measured"], {
      default: "off",
      description:
        "Whether each node's status carries its network capacity (bit/s) as the extended resource network.aware.com/bandwidth. declared: from the node's annotation isochrone.dev/bandwidth-capacity; measured: the best bandwidth test from or to the node, else the annotation; off: what was advertised is taken back.",
    }),
    checkIntervalMs: constant(10_000, "No documented case changes this default; tests are rarer."),
    maxWritesPerCheck: constant(20, "The others follow in the next check."),
    tolerance: constant(0.1, "It keeps small differences between tests from causing writes."),
  },
  { description: "Nodes' bandwidth as an extended resource, written by the aggregator that leads." },
);

/** Values of {@link bandwidthResourceSettings}. */
export type BandwidthResourceConfig = SettingsOf<typeof bandwidthResourceSettings>;
