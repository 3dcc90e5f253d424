import { duration, flag, list, oneOf, text, type SectionRule } from "@isochrone/runtime";
import { OBJECT } from "../discovery/trusted.ts";
import { PRESET_NAMES } from "./presets.ts";

const MATCHER = /[a-zA-Z_][a-zA-Z0-9_]*(?:=|!=|=~|!~)"(?:[^"\\\n]|\\[^\n])*"/;

const LABEL_NAME = /[a-zA-Z_][a-zA-Z0-9_]*/;

/** Rows of the collector's section that count in Prometheus mode. */
export const prometheusFields = {
  prometheusUrl: text({
    default: "http://127.0.0.1:9090",
    pattern: /https?:\/\/\S+/,
    patternRule: "must be an http or https URL",
    description: "Prometheus, Thanos or Mimir: where /api/v1/query is found.",
  }),
  prometheusName: text({
    default: "prometheus",
    pattern: /[a-z0-9][a-z0-9-]{0,62}/,
    patternRule: "must be lower-case letters, digits and hyphens",
    description:
      "Name of this collector among those that ask; several that share the work by matchers each need one.",
  }),
  prometheusPreset: oneOf(PRESET_NAMES, {
    default: "kube-prometheus",
    description: "How the scrape configuration names nodes, pods and containers.",
  }),
  prometheusWindowMs: duration({
    default: 120_000,
    min: 1000,
    description:
      "Samples of how long each query asks for; at least collector.intervalMs and two scrape intervals of Prometheus together.",
  }),
  prometheusMatchers: list({
    default: [],
    pattern: MATCHER,
    patternRule: 'must hold only label matchers such as env="prod"',
    description: "Label matchers that every query gets.",
  }),
  prometheusTrustedPods: list({
    default: [],
    pattern: OBJECT,
    patternRule: "must hold only namespace/name",
    description:
      "Deployments (or the like) whose pods may tell of others, each as namespace/name: OpenTelemetry Collectors with the service graph connector, or who passes on what kubelets tell.",
  }),
  prometheusNamespaceLabel: text({
    default: "namespace",
    pattern: LABEL_NAME,
    patternRule: "must be a label name",
    description:
      "Label by which Prometheus names the namespace of a target, the pod's own whatever its page says (honor_labels off).",
  }),
  prometheusPodLabel: text({
    default: "pod",
    pattern: LABEL_NAME,
    patternRule: "must be a label name",
    description: "Label by which Prometheus names a target's pod.",
  }),
  prometheusTrustUnlabelled: flag({
    default: false,
    description:
      "Take series of traffic that no label says the pod of. Only where no pod's page comes without: whoever writes such series says what traffic there is.",
  }),
  prometheusTenant: text({ default: null, description: "Sent as X-Scope-OrgID (Mimir, Cortex)." }),
  prometheusTokenFile: text({
    default: null,
    description: "File with a bearer token; read again for each round.",
  }),
  prometheusUsername: text({
    default: null,
    description: "For basic authentication, with prometheusPasswordFile.",
  }),
  prometheusPasswordFile: text({
    default: null,
    description: "File with the password; read again for each round.",
  }),
  prometheusCaFile: text({
    default: null,
    description: "Certificates (PEM) that the server's must chain to, instead of the system's.",
  }),
  prometheusInsecureSkipVerify: flag({
    default: false,
    description: "Takes any certificate. Whoever can answer in the server's place then makes the graphs.",
  }),
} as const;

/** Bounds that have their value where they are used. Tests pass smaller ones. */
export interface PrometheusBounds {
  readonly prometheusCatchUpMs?: number;
  readonly prometheusTimeoutMs?: number;
  readonly prometheusMaxResponseBytes?: number;
  readonly prometheusMaxSeries?: number;
}

interface Values {
  readonly intervalMs: number;
  readonly prometheusWindowMs: number;
  readonly prometheusTokenFile: string | null;
  readonly prometheusUsername: string | null;
  readonly prometheusPasswordFile: string | null;
}

/** Rules that cross the rows; for Prometheus mode only. */
export const prometheusRules: readonly SectionRule<Values>[] = [
  ({ prometheusWindowMs, intervalMs }) =>
    prometheusWindowMs > intervalMs
      ? null
      : `prometheusWindowMs must be above intervalMs (${intervalMs}), got ${prometheusWindowMs}`,
  ({ prometheusUsername, prometheusPasswordFile }) =>
    (prometheusUsername === null) === (prometheusPasswordFile === null)
      ? null
      : "prometheusUsername and prometheusPasswordFile must be given together",
  ({ prometheusUsername, prometheusTokenFile }) =>
    prometheusUsername === null || prometheusTokenFile === null
      ? null
      : "prometheusUsername and prometheusTokenFile must not both be given",
];
