import { constant, list, section, text, type Section, type SettingsOf } from "@isochrone/runtime";
import { CERTIFICATE_SETTINGS } from "@isochrone/kubernetes";

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
  checkMs: constant(10_000, "Certificates are renewed days before they end."),
  ...CERTIFICATE_SETTINGS,
  authorityLifetimeMs: constant(
    3_650 * DAY_MS,
    "kube-scheduler reads it from a configuration that a person writes: it lives long.",
  ),
  kubeSchedulerLifetimeMs: constant(
    365 * DAY_MS,
    "A person gives it to kube-scheduler: it lives long, and is renewed when a third is left.",
  ),
  trustDelayMs: constant(30 * DAY_MS, "It leaves a month to configure kube-scheduler anew."),
  clockSkewMs: constant(DAY_MS, "It is a margin for nodes whose clocks are behind."),
};

/** Settings of the certificates that the scheduler-plugin makes for its extender and for those who ask it. */
export const extenderCertificateSettings: Section<"extenderCertificates", typeof table> = section(
  "extenderCertificates",
  table,
  {
    description:
      "Mutual TLS of the extender: the scheduler-plugin makes and renews the certificates of both sides.",
  },
);

/** Values of {@link extenderCertificateSettings}. */
export type ExtenderCertificateConfig = SettingsOf<typeof extenderCertificateSettings>;
