import { bytes, duration, flag, integer, list, section, text } from "@isochrone/runtime";
import type { Section, SettingsOf } from "@isochrone/runtime";
import {
  CERTIFICATE_SETTINGS,
  certificateRules,
  GATE_DEADLINE_MS,
  PLANNER_HEARTBEAT_MAX_AGE_MS,
} from "@isochrone/kubernetes";

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
      "Service by which the API server reaches it, in the namespace scheduler.replicaNamespace; its certificate is for that name.",
  }),
  servicePort: integer({ default: 443, min: 1, max: 65_535, description: "Port of that Service." }),
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
  timeoutMs: duration({
    default: MAX_TIMEOUT_MS,
    min: 1_000,
    max: MAX_TIMEOUT_MS,
    description:
      "How long the API server waits for an answer, rounded to whole seconds; then the pod is created without the gate.",
  }),
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
  heartbeatMaxAgeMs: duration({
    default: PLANNER_HEARTBEAT_MAX_AGE_MS,
    min: 1_000,
    max: GATE_DEADLINE_MS,
    description: "Pods get the gate only while the planner's last sign of life is younger.",
  }),
  heartbeatCheckMs: duration({
    default: 1_000,
    min: 50,
    max: 10_000,
    description:
      "How often the planner's Lease is asked for, at most: only while no change of it was seen for half of webhook.heartbeatMaxAgeMs.",
  }),
  maxBodyBytes: bytes({
    default: 4 * 1024 * 1024,
    min: 65_536,
    max: 64 * 1024 * 1024,
    description: "Largest request; the API server itself takes pods of up to 3 MB.",
  }),
  certificateCheckMs: duration({
    default: 10_000,
    min: 50,
    max: HOUR_MS,
    description: "How often the certificates and the registration are looked at.",
  }),
  ...CERTIFICATE_SETTINGS,
  trustDelayMs: duration({
    default: 60_000,
    min: 100,
    max: HOUR_MS,
    description:
      "How long a new authority must have been registered before it signs: every API server is to know it then.",
  }),
  clockSkewMs: duration({
    default: DAY_MS,
    min: 0,
    max: 30 * DAY_MS,
    description: "Certificates are good from so long ago on, for API servers whose clocks are behind.",
  }),
};

/** Settings of the webhook that sets the gate. */
export const webhookSettings: Section<"webhook", typeof table> = section("webhook", table, {
  description: "The scheduler-plugin's admission webhook: has new pods wait until they are planned.",
  rules: [
    ...certificateRules("webhook", "certificateCheckMs"),
    ({ heartbeatCheckMs, heartbeatMaxAgeMs }) =>
      heartbeatCheckMs * 2 <= heartbeatMaxAgeMs
        ? null
        : `webhook.heartbeatCheckMs must be at most half of webhook.heartbeatMaxAgeMs (${heartbeatMaxAgeMs}), got ${heartbeatCheckMs}`,
  ],
});

/** Values of {@link webhookSettings}. */
export type WebhookConfig = SettingsOf<typeof webhookSettings>;
