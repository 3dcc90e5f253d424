import {
  bytes,
  duration,
  flag,
  integer,
  list,
  number,
  oneOf,
  ratio,
  section,
  text,
} from "@isochrone/runtime";
import { caFileSetting, clientFilesMistake, tokenFileSetting } from "@isochrone/runtime";
import type { Section, SettingsOf } from "@isochrone/runtime";
import { ALLOWED_HOSTS_SETTING, SERVER_TLS_SETTINGS, serverTlsRules } from "@isochrone/runtime/http";
import { isQualifiedName, REPLICA_SETTINGS, replicaRules } from "@isochrone/kubernetes";
import { APP_GROUP_SETTINGS } from "./appgroup/settings.ts";
import {
  DEFAULT_AFFINITY,
  DEFAULT_BYTES_PER_REQUEST,
  DEFAULT_MIN_SPREAD,
  STRATEGY_MODES,
} from "@isochrone/placement";
import { profileMistake } from "./domain/strategy-profile.ts";

const table = {
  host: text({
    default: "127.0.0.1",
    description: "Address that the extender and the decisions API listen on.",
  }),
  port: integer({
    default: 8081,
    min: 0,
    max: 65_535,
    description: "Port of the extender; 0 takes any free one.",
  }),
  urlPrefix: text({
    default: "/scheduler",
    pattern: /(\/[\w.~-]+)*/,
    minLength: 0,
    patternRule: "must be empty or a path such as /scheduler, without a slash at its end",
    description:
      "Path in front of the verbs, as urlPrefix in kube-scheduler's extender configuration says it.",
  }),
  graphUrl: text({
    default: "http://127.0.0.1:8080",
    pattern: /https?:\/\/\S+/,
    patternRule: "must be an http or https address",
    description: "Address of the graph API.",
  }),
  graphTokenFile: tokenFileSetting("the graph API"),
  graphCaFile: caFileSetting("the graph API"),
  refreshMs: duration({
    default: 1_000,
    min: 50,
    max: 600_000,
    description: "Pause between two looks at the graphs.",
  }),
  requestTimeoutMs: duration({
    default: 5_000,
    min: 50,
    max: 600_000,
    description: "Limit of one request to the graph API.",
  }),
  strategy: text({
    default: "resource-network",
    description:
      "How nodes are scored: resource-network, communication-affinity or network-overhead; or several with their weights, as in resource-network=0.7,communication-affinity=0.3 (NAME[/MODE][=WEIGHT]).",
  }),
  mode: oneOf(STRATEGY_MODES, {
    default: null,
    description:
      "How the parts of a score are combined: the paper's own sum (raw), or each part brought to 0..1 first (normalized, the default). Of network-overhead: strict (the default) or upstream.",
  }),
  alpha: ratio({ default: 0.5, description: "Weight of CPU in the resource part; alpha + beta = 1." }),
  beta: ratio({ default: 0.5, description: "Weight of memory in the resource part." }),
  gamma: ratio({ default: 0.5, description: "Weight of the resource part; gamma + delta = 1." }),
  delta: ratio({ default: 0.5, description: "Weight of the network part." }),
  affinityAlpha: number({
    default: DEFAULT_AFFINITY.alpha,
    min: 0,
    max: 1e9,
    description: "Weight of the channels' priorities in communication-affinity.",
  }),
  affinityBeta: number({
    default: DEFAULT_AFFINITY.beta,
    min: 0,
    max: 1e9,
    description: "Weight of the channels' traffic in communication-affinity.",
  }),
  affinityGamma: number({
    default: DEFAULT_AFFINITY.gamma,
    min: 0,
    max: 1e9,
    description:
      "Weight of neighbours on the scored node itself in communication-affinity: they count as if they were 1/gamma ms away.",
  }),
  channelPriorities: list({
    default: [],
    description:
      "Relationship types beside those of communication-affinity, or other priorities for those: HTTPRoute=80, MQTTRoute<AsynchronousRoute=2.",
  }),
  minSpread: ratio({
    default: DEFAULT_MIN_SPREAD,
    description:
      "A part (mode normalized) in which the nodes differ by less than this share of its largest value isn't stretched to the whole of 0..1. 0 always stretches.",
  }),
  bytesPerRequest: number({
    default: DEFAULT_BYTES_PER_REQUEST,
    min: 0,
    max: 1e9,
    description:
      "Bytes of a request and its response, for channels of which traces or flow logs count requests only (mode normalized; raw counts measured bytes only). 0 leaves their traffic unknown.",
  }),
  usageHeadroom: flag({
    default: false,
    description:
      "Reject nodes (verb filter) on which by measured use, not by requests, the pod doesn't fit. maxNetworkCost and minBandwidth of channels always reject.",
  }),
  ledgerMs: duration({
    default: 60_000,
    min: 0,
    max: 3_600_000,
    description:
      "How long a decision counts as placed while the graphs don't show it, so that a burst of pods doesn't herd.",
  }),
  maxBodyBytes: bytes({
    default: 64 * 1024 * 1024,
    min: 1_024,
    max: 1024 * 1024 * 1024,
    description:
      "Largest request. Names of 5,000 nodes are 0.2 MB; whole node objects (no nodeCacheCapable) some 60 MB.",
  }),
  ...SERVER_TLS_SETTINGS,
  allowedHosts: ALLOWED_HOSTS_SETTING,
  access: oneOf(["none"], {
    default: null,
    description:
      "Who may ask the extender on other than a loopback address: not set, clients with a certificate only, and without an authority of clients it doesn't start; none, everyone who reaches it.",
  }),
  ...REPLICA_SETTINGS,
  ...APP_GROUP_SETTINGS,
  podEvents: flag({
    default: true,
    description:
      "Write an Event on a pod of a workflow when it gets its node: what was decided, and whether it was followed.",
  }),
  managedResource: text({
    default: null,
    description:
      "Extended resource by which pods ask to be scored, as managedResources in kube-scheduler's extender configuration names it. Canary pods that request it are sent; while they aren't scheduled, nobody may inject it.",
  }),
  canaryNamespace: text({
    default: "isochrone-canary",
    description: "Namespace of the canary pods; it must exist, and nothing else should be in it.",
  }),
  canaryImage: text({
    default: "registry.k8s.io/pause:3.10",
    description: "Image of the canary pods; they are deleted as soon as they have a node.",
  }),
  canarySchedulerName: text({
    default: "default-scheduler",
    description: "schedulerName of the canary pods: that of the kube-scheduler whose pods get the resource.",
  }),
  canaryPeriodMs: duration({
    default: 60_000,
    min: 500,
    max: 3_600_000,
    description: "Pause between two canaries.",
  }),
  canaryDeadlineMs: duration({
    default: 30_000,
    min: 500,
    max: 600_000,
    description: "A canary without a node after so long counts as not scheduled.",
  }),
  canaryRequired: integer({
    default: 2,
    min: 1,
    max: 100,
    description:
      "Canaries in a row that must have been scheduled before the resource may be injected; one failure forbids it.",
  }),
  keptDecisions: integer({
    default: 500,
    min: 1,
    max: 100_000,
    description: "Decisions that the API remembers.",
  }),
};

/** Settings of the scheduler-plugin. */
export const schedulerPluginSettings: Section<"scheduler", typeof table> = section("scheduler", table, {
  description: "Scores nodes for kube-scheduler and explains every decision.",
  rules: [
    ({ alpha, beta }) => sumRule("alpha", alpha, "beta", beta),
    ({ gamma, delta }) => sumRule("gamma", gamma, "delta", delta),
    profileMistake,
    ...serverTlsRules("scheduler"),
    ...replicaRules("scheduler"),
    ({ graphUrl, graphTokenFile, graphCaFile }) =>
      clientFilesMistake("scheduler", { graphUrl }, { graphTokenFile }, { graphCaFile }),
    ({ managedResource }) =>
      managedResource === null || (managedResource.includes("/") && isQualifiedName(managedResource))
        ? null
        : `managedResource must be an extended resource such as isochrone.dev/placement, got ${managedResource}`,
  ],
});

/** Values of {@link schedulerPluginSettings}. */
export type SchedulerPluginConfig = SettingsOf<typeof schedulerPluginSettings>;

function sumRule(a: string, first: number, b: string, second: number): string | null {
  return Math.abs(first + second - 1) < 1e-9 ? null : `${a} + ${b} must be 1, got ${first} + ${second}`;
}
