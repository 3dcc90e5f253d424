import {
  constant,
  flag,
  integer,
  list,
  section,
  text,
  type Section,
  type SettingsOf,
} from "@isochrone/runtime";
import { CERTIFICATE_SETTINGS, PLANNER_HEARTBEAT_MAX_AGE_MS } from "@isochrone/kubernetes";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The API server asks in a pod's way into the cluster: a webhook that hangs must not be felt. */
const MAX_TIMEOUT_MS = 2_000;

const table = {
  enabled: flag({
    default: false,
    description:
      "Serve a mutating webhook that has new pods wait for the planner, and register it. Namespaces, AppGroups and pods opt in by the label isochrone.dev/placement=enabled. gates.enabled of the aggregator must be on, as it is by default.",
  }),
  host: text({ default: "0.0.0.0", description: "Address that the webhook listens on, by TLS only." }),
  port: integer({
    default: 8443,
    min: 0,
    max: 65_535,
    description: "Port that it listens on; 0 takes any free one.",
  }),
  serviceName: text({
    default: "isochrone-scheduler-plugin",
    description:
      "Service by which the API server reaches it, in the namespace kubernetes.namespace; its certificate is for that name.",
  }),
  url: text({
    default: null,
    pattern: /https:\/\/[^\s/?#]+/,
    patternRule: "must be an https address without a path",
    description:
      "Address by which the API server reaches it, in place of the Service: where it runs outside of the cluster.",
  }),
  ownerClusterRole: text({
    default: null,
    description:
      "ClusterRole that owns the registration: once it is deleted, Kubernetes' garbage collector deletes the registration, whether this process still runs or not. The chart names the role that exists only while the webhook is enabled.",
  }),
  timeoutMs: constant(MAX_TIMEOUT_MS, "It bounds how long the API server waits for the webhook."),
  schedulerNames: list({
    default: ["default-scheduler"],
    minItems: 1,
    maxItems: 20,
    description: "Pods with another schedulerName are left alone.",
  }),
  excludedNamespaces: list({
    default: ["kube-system", "kube-public", "kube-node-lease"],
    maxItems: 100,
    description:
      "Namespaces whose pods never wait, beside kube-system, Isochrone's own and that of the canaries.",
  }),
  heartbeatMaxAgeMs: constant(
    PLANNER_HEARTBEAT_MAX_AGE_MS,
    "It belongs to the planner's sign of life, which is a constant.",
  ),
  heartbeatCheckMs: constant(1_000, "It belongs to the planner's sign of life, which is a constant."),
  maxBodyBytes: constant(4 * 1024 * 1024, "It is a bound for memory."),
  certificateCheckMs: constant(10_000, "Certificates are renewed days before they end."),
  ...CERTIFICATE_SETTINGS,
  trustDelayMs: constant(60_000, "It leaves time for API servers to see a new registration."),
  clockSkewMs: constant(DAY_MS, "It is a margin for nodes whose clocks are behind."),
};

/** Settings of the webhook that sets the gate. */
export const webhookSettings: Section<"webhook", typeof table> = section("webhook", table, {
  description: "The scheduler-plugin's admission webhook: has new pods wait until they are planned.",
  retired: ["servicePort"],
});

/** Values of {@link webhookSettings}. */
export type WebhookConfig = SettingsOf<typeof webhookSettings>;
