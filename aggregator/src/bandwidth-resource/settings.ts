import { duration, integer, oneOf, ratio, section, type SettingsOf } from "@isochrone/runtime";

/** How nodes' bandwidth is advertised to kube-scheduler. */
export const bandwidthResourceSettings = section(
  "bandwidthResource",
  {
    advertise: oneOf(["off", "declared", "measured"], {
      default: "off",
      description:
        "Whether each node's status carries its network capacity (bit/s) as the extended resource of aggregator.bandwidthResource. declared: from the node's annotation isochrone.dev/bandwidth-capacity; measured: the best bandwidth test from or to the node, else the annotation; off: what was advertised is taken back.",
    }),
    checkIntervalMs: duration({
      default: 10_000,
      min: 100,
      max: 3_600_000,
      description: "How often what nodes advertise is compared with what is known.",
    }),
    maxWritesPerCheck: integer({
      default: 20,
      min: 1,
      max: 10_000,
      description: "Nodes whose status is written in one check at most; the others follow in the next ones.",
    }),
    tolerance: ratio({
      default: 0.1,
      description:
        "Share by which a measured capacity must differ from what is advertised before that changes.",
    }),
  },
  { description: "Nodes' bandwidth as an extended resource, written by the aggregator that leads." },
);

/** Values of {@link bandwidthResourceSettings}. */
export type BandwidthResourceConfig = SettingsOf<typeof bandwidthResourceSettings>;
