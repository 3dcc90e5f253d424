import { duration, flag, number, section, text, type SettingsOf } from "@isochrone/runtime";
import { DEFAULT_ANNOTATION_PREFIX } from "@isochrone/topology";

/** What the aggregator writes onto Kubernetes objects, how often, and how much at most. */
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
    refreshMs: duration({
      default: 600_000,
      min: 10_000,
      max: 1_200_000,
      description:
        "Annotations are written anew at the latest after so long, whatever changed; readers take those that are older than 25 min for stale.",
    }),
    minIntervalMs: duration({
      default: 30_000,
      min: 0,
      max: 600_000,
      description: "Least time from one write of a node's annotations to the next.",
    }),
    workloadIntervalMs: duration({
      default: 300_000,
      min: 0,
      max: 3_600_000,
      description: "Least time from one write of a workload's annotations to the next.",
    }),
    warmUpMs: duration({
      default: 30_000,
      min: 0,
      max: 600_000,
      description:
        "How long after the first graph nothing is written yet: what is not measured yet would be taken for unknown.",
    }),
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
    netperfIntervalMs: duration({
      default: 60_000,
      min: 1000,
      max: 3_600_000,
      description: "How often that ConfigMap is compared with the graph, and written at most.",
    }),
  },
  {
    description:
      "What the aggregator writes onto nodes, workloads and into KEP-260's ConfigMap; formats in annotations.md.",
    rules: [
      ({ minIntervalMs, refreshMs }) =>
        minIntervalMs < refreshMs
          ? null
          : `annotations.minIntervalMs must be below annotations.refreshMs (${refreshMs}), got ${minIntervalMs}`,
    ],
  },
);

/** Values of {@link annotationSettings}. */
export type AnnotationConfig = SettingsOf<typeof annotationSettings>;
