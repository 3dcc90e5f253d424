import {
  AGGREGATOR_CLIENT_SETTINGS,
  clientFilesMistake,
  constant,
  derived,
  flag,
  integer,
  list,
  number,
  oneOf,
  ratio,
  section,
  text,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";
import { ALLOWED_HOSTS_SETTING, SERVER_TLS_SETTINGS, serverTlsRules } from "@isochrone/runtime/http";
import { isQualifiedName, REPLICA_SETTINGS } from "@isochrone/kubernetes";
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
  urlPrefix: constant(
    "/scheduler",
    "isochrone scheduler-config writes it into kube-scheduler's configuration.",
  ),
  graphUrl: AGGREGATOR_CLIENT_SETTINGS.aggregatorUrl,
  graphTokenFile: AGGREGATOR_CLIENT_SETTINGS.aggregatorTokenFile,
  graphCaFile: AGGREGATOR_CLIENT_SETTINGS.aggregatorCaFile,
  refreshMs: constant(1_000, "Graphs are read only when they have changed."),
  requestTimeoutMs: constant(5_000, "It is a bound for one request."),
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
  alpha: ratio({ default: 0.5, description: "Weight of CPU in the resource part; memory has the rest." }),
  beta: derived(({ alpha }: { readonly alpha: number }) => complementOf(alpha), "It is 1 - scheduler.alpha."),
  gamma: ratio({ default: 0.5, description: "Weight of the resource part; the network part has the rest." }),
  delta: derived(
    ({ gamma }: { readonly gamma: number }) => complementOf(gamma),
    "It is 1 - scheduler.gamma.",
  ),
  affinityAlpha: constant(DEFAULT_AFFINITY.alpha, "The paper fixes the weights of communication-affinity."),
  affinityBeta: constant(DEFAULT_AFFINITY.beta, "The paper fixes the weights of communication-affinity."),
  affinityGamma: constant(DEFAULT_AFFINITY.gamma, "The paper fixes the weights of communication-affinity."),
  channelPriorities: list({
    default: [],
    description:
      "Relationship types beside those of communication-affinity, or other priorities for those: HTTPRoute=80, MQTTRoute<AsynchronousRoute=2.",
  }),
  minSpread: constant(DEFAULT_MIN_SPREAD, "It keeps differences near zero from deciding."),
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
  ledgerMs: constant(60_000, "It bridges the time until graphs show a pod."),
  maxBodyBytes: constant(
    64 * 1024 * 1024,
    "It is a bound for memory, for requests that carry whole node objects.",
  ),
  ...SERVER_TLS_SETTINGS,
  allowedHosts: ALLOWED_HOSTS_SETTING,
  access: oneOf(["none"], {
    default: null,
    description:
      "Who may ask the extender on other than a loopback address: not set, clients with a certificate only, and without an authority of clients it doesn't start; none, everyone who reaches it.",
  }),
  ...REPLICA_SETTINGS,
  serviceName: text({
    default: null,
    description:
      "Service (in the replicas' namespace) that all replicas are behind. A replica finds the others by its EndpointSlices and copies their decisions and plans, so that each gives the same answers. Needs scheduler.replicaName. Without it this replica tells only what it knows itself.",
  }),
  replicaFilesDirectory: text({
    default: null,
    description:
      "Directory with the files for requests to other replicas by HTTPS: ca.crt, the authorities of their certificates, which must carry the name SERVICE.NAMESPACE.svc; tls.crt and tls.key, the client certificate, read where replicas ask for one. Only with scheduler.serviceName.",
  }),
  ...APP_GROUP_SETTINGS,
  podEvents: flag({
    default: true,
    description:
      "Write an Event on a pod of a workflow when it gets its node: what was decided, and whether it was followed.",
  }),
  deletionCosts: oneOf(["off", "write", "remove"], {
    default: "off",
    description:
      "Annotate pods of ReplicaSets with controller.kubernetes.io/pod-deletion-cost, so that a scale-down takes the pod whose loss costs least; remove takes back what was written. Never where somebody else annotates one of them.",
  }),
  deletionCostMs: constant(60_000, "Which pod is missed least changes slowly, and each write costs."),
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
  canaryPeriodMs: constant(60_000, "No documented case changes this default."),
  canaryDeadlineMs: constant(30_000, "It bounds how long a canary waits."),
  canaryRequired: constant(2, "One canary may have been scheduled by chance."),
  keptDecisions: constant(500, "The Events of pods tell older ones."),
};

/** Settings of the scheduler-plugin. */
export const schedulerPluginSettings: Section<"scheduler", typeof table> = section("scheduler", table, {
  description: "Scores nodes for kube-scheduler and explains every decision.",
  retired: ["canarySchedulerName"],
  rules: [
    profileMistake,
    ...serverTlsRules("scheduler"),
    ({ graphUrl, graphTokenFile, graphCaFile }) =>
      clientFilesMistake("scheduler", { graphUrl }, { graphTokenFile }, { graphCaFile }),
    replicaMistake,
    ({ managedResource }) =>
      managedResource === null || (managedResource.includes("/") && isQualifiedName(managedResource))
        ? null
        : `managedResource must be an extended resource such as isochrone.dev/placement, got ${managedResource}`,
  ],
});

/** Values of {@link schedulerPluginSettings}. */
export type SchedulerPluginConfig = SettingsOf<typeof schedulerPluginSettings>;

interface ReplicaValues {
  readonly replicaName: string | null;
  readonly serviceName: string | null;
  readonly replicaFilesDirectory: string | null;
}

function replicaMistake({ replicaName, serviceName, replicaFilesDirectory }: ReplicaValues): string | null {
  if (serviceName === null)
    return replicaFilesDirectory === null
      ? null
      : `scheduler.serviceName must be set with scheduler.replicaFilesDirectory, got none and ${replicaFilesDirectory}`;
  return replicaName === null
    ? `scheduler.replicaName must be set with scheduler.serviceName, got none and ${serviceName}`
    : null;
}

/** Without the rounding error of the subtraction, which people would see: 0.3 is what 0.7 leaves. */
function complementOf(weight: number): number {
  return Number((1 - weight).toPrecision(12));
}
