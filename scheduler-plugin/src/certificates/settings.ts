import { CERTIFICATE_SETTINGS, certificateRules } from "@isochrone/kubernetes";
import { duration, list, section, text } from "@isochrone/runtime";
import type { Section, SettingsOf } from "@isochrone/runtime";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const table = {
  secret: text({
    default: null,
    pattern: /[^/\s]+\/[^/\s]+/,
    patternRule: "must be namespace/name",
    description:
      "Secret (namespace/name) in which the scheduler-plugin keeps the extender's authority and certificate of its own making: all replicas serve by them, in the place of scheduler.tlsCertFile, and demand client certificates of that authority. Without it none are made.",
  }),
  configMap: text({
    default: "isochrone-scheduler-plugin-ca",
    description:
      "ConfigMap beside it whose entry ca.crt tells whom to trust; isochrone scheduler-config reads it.",
  }),
  kubeSchedulerSecret: text({
    default: "isochrone-scheduler-plugin-kube-scheduler",
    description:
      "Secret beside it with kube-scheduler's client certificate and key; isochrone scheduler-config reads it, and no pod mounts it.",
  }),
  decisionsSecret: text({
    default: "isochrone-scheduler-plugin-decisions",
    description:
      "Secret beside it with the client certificate and key by which the aggregator reads decisions.",
  }),
  hosts: list({
    default: ["localhost", "127.0.0.1"],
    minItems: 1,
    maxItems: 100,
    description: "Names and addresses that the extender's certificate is for.",
  }),
  checkMs: duration({
    default: 10_000,
    min: 50,
    max: HOUR_MS,
    description: "How often the Secrets and the ConfigMap are looked at.",
  }),
  ...CERTIFICATE_SETTINGS,
  authorityLifetimeMs: duration({
    default: 3_650 * DAY_MS,
    min: 6_000,
    max: 3_650 * DAY_MS,
    description:
      "How long the extender's authority is good. kube-scheduler reads it at its start, from a configuration that a person writes: it lives long.",
  }),
  kubeSchedulerLifetimeMs: duration({
    default: 365 * DAY_MS,
    min: 3_000,
    max: 3_650 * DAY_MS,
    description:
      "How long kube-scheduler's client certificate is good; with a third left there is a new one in its Secret, which a person gives to kube-scheduler.",
  }),
  trustDelayMs: duration({
    default: 30 * DAY_MS,
    min: 100,
    max: 365 * DAY_MS,
    description:
      "How long a new authority must have been in the ConfigMap before it signs: kube-schedulers are to be configured anew by then.",
  }),
  clockSkewMs: duration({
    default: DAY_MS,
    min: 0,
    max: 30 * DAY_MS,
    description: "Certificates are good from so long ago on, for nodes whose clocks are behind.",
  }),
};

/** Settings of the certificates that the scheduler-plugin makes for its extender and for those who ask it. */
export const extenderCertificateSettings: Section<"extenderCertificates", typeof table> = section(
  "extenderCertificates",
  table,
  {
    description:
      "Mutual TLS of the extender without certificates from elsewhere: the scheduler-plugin makes and renews those of both sides.",
    rules: [
      ...certificateRules("extenderCertificates", "checkMs"),
      ({ kubeSchedulerLifetimeMs, authorityLifetimeMs }) =>
        kubeSchedulerLifetimeMs < authorityLifetimeMs
          ? null
          : `extenderCertificates.kubeSchedulerLifetimeMs must be below extenderCertificates.authorityLifetimeMs (${authorityLifetimeMs}), got ${kubeSchedulerLifetimeMs}`,
    ],
  },
);

/** Values of {@link extenderCertificateSettings}. */
export type ExtenderCertificateConfig = SettingsOf<typeof extenderCertificateSettings>;
