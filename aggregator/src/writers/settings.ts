import { constant, flag, number, section, text, type SettingsOf } from "@isochrone/runtime";
import { DEFAULT_ANNOTATION_PREFIX } from "@isochrone/topology";

/** Annotations of Kubernetes objects: which, how often, and how many at most. */
export const annotationSettings = section(
  "annotations",
  {
    nodes: flag({
      default: null,
      description:
        "Whether nodes are annotated with what they have available, their network costs and their coordinate. Without it: on a real cluster. When it is switched off, what was written before is removed.",
    }),
    workloads: flag({
      default: false,
      description:
        'Whether Deployments, StatefulSets and DaemonSets are annotated with their use and traffic; the label isochrone.dev/annotate: "false" leaves one out. Each write makes a new generation of the object and is copied to its ReplicaSets.',
    }),
    prefix: text({
      default: DEFAULT_ANNOTATION_PREFIX,
      minLength: 0,
      maxLength: 254,
      pattern: /([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?/,
      patternRule: "must be empty, or a DNS name and a slash, as isochrone.dev/",
      description: "What the annotations' names begin with; empty for bare names.",
    }),
    refreshMs: constant(600_000, "Readers take annotations older than 25 minutes for stale."),
    minIntervalMs: constant(30_000, "annotations.writesPerSecond is the budget."),
    workloadIntervalMs: constant(
      300_000,
      "annotations.writesPerSecond is the budget; each write makes a new generation of the object.",
    ),
    warmUpMs: constant(30_000, "It leaves time for the first measurements."),
    writesPerSecond: number({
      default: 10,
      min: 0.1,
      max: 1000,
      description: "Writes per second of all replicas together; each live one has its share.",
    }),
    netperfConfigMap: text({
      default: null,
      pattern: /[a-z0-9]([a-z0-9-]*[a-z0-9])?\/[a-z0-9]([a-z0-9.-]*[a-z0-9])?/,
      patternRule: "must be namespace/name of a ConfigMap",
      description:
        "ConfigMap with the latencies of all measured pairs for KEP-260's networktopology-controller, as default/netperf-metrics. Only needed beside networkTopology.writer=upstream; without it there is none.",
    }),
    netperfIntervalMs: constant(60_000, "No documented case changes this default."),
  },
  {
    description:
      "What the aggregator writes onto nodes, workloads and into KEP-260's ConfigMap; formats in annotations.md.",
  },
);

/** Values of {@link annotationSettings}. */
export type AnnotationConfig = SettingsOf<typeof annotationSettings>;
