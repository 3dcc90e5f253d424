import { constant, oneOf, section, text, type SettingsOf } from "@isochrone/runtime";

const NAME = /[a-z0-9]([a-z0-9.-]*[a-z0-9])?/;
const NAME_RULE = "must be a Kubernetes name: lower-case letters, digits, dots and dashes";

/** The weights that upstream's plugin reads unless told otherwise. Most clusters have none of that name. */
export const DEFAULT_DECLARED_WEIGHTS = "UserDefined";
/** In place of a name: no declared costs are read. */
export const NO_DECLARED_WEIGHTS = "none";

/** Who writes KEP-260's NetworkTopology, and how. */
export const networkTopologySettings = section(
  "networkTopology",
  {
    writer: oneOf(["isochrone", "upstream"], {
      default: "isochrone",
      description:
        "Who writes the NetperfCosts of the NetworkTopology. upstream: its own controller (networktopology-controller), and Isochrone writes nothing; never let both write.",
    }),
    namespace: text({
      default: "default",
      pattern: NAME,
      patternRule: NAME_RULE,
      description:
        "Namespace of the NetworkTopology; upstream's plugin looks in default unless told otherwise.",
    }),
    name: text({
      default: "nt-default",
      pattern: NAME,
      patternRule: NAME_RULE,
      maxLength: 253,
      description: "Name of the NetworkTopology; the default is the one that upstream's plugin looks for.",
    }),
    declaredWeights: text({
      default: DEFAULT_DECLARED_WEIGHTS,
      maxLength: 253,
      description:
        "Name of weights in the NetworkTopology whose costs are part of the cluster graph: they stand in for what isn't measured, and are all that network-overhead looks at in its mode upstream. The default is the name that upstream's plugin reads by default; a NetworkTopology without weights of the name declares nothing. none: none are read.",
    }),
    latenciesFrom: text({
      default: null,
      pattern: /[a-z0-9]([a-z0-9-]*[a-z0-9])?\/[a-z0-9]([a-z0-9.-]*[a-z0-9])?/,
      patternRule: "must be namespace/name of a ConfigMap",
      description:
        "ConfigMap in which another component, such as KEP-260's netperf component, writes latencies between nodes. They are the costs of pairs that nothing here measures; whoever may write it says what those cost. Without it none is read.",
    }),
    configMapName: constant(
      "netperf-metrics",
      "It is what upstream's controller looks for; the name in an existing object stays.",
    ),
    costUnitMs: constant(1, "The annotation isochrone.dev/network-cost-scale of the object says it."),
    checkIntervalMs: constant(5000, "No documented case changes this default."),
    minWriteIntervalMs: constant(30_000, "kube-scheduler reads the object anew at each write."),
    holdMs: constant(
      900_000,
      "It bridges restarts and lost probes; no documented case changes this default.",
    ),
    capacityTolerance: constant(0.1, "It keeps small differences between tests from causing writes."),
  },
  { description: "The NetworkTopology of KEP-260, written by the aggregator that leads." },
);

/** Values of {@link networkTopologySettings}. */
export type NetworkTopologyConfig = SettingsOf<typeof networkTopologySettings>;

/**
 * Who writes KEP-260's ConfigMap removes the entries of others: what is written here must not be read from
 * there. Null: there is no mistake.
 */
export function configMapMistake(readFrom: string | null, writtenTo: string | null): string | null {
  return readFrom === null || readFrom !== writtenTo
    ? null
    : `networkTopology.latenciesFrom must not be annotations.netperfConfigMap, got ${readFrom} for both`;
}
