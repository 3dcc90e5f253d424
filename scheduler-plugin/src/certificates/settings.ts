import {
  constant,
  derived,
  list,
  section,
  text,
  type Section,
  type Setting,
  type SettingsOf,
} from "@isochrone/runtime";
import { besideSecret, CERTIFICATE_SETTINGS } from "@isochrone/kubernetes";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function beside(suffix: string): Setting<string> {
  return derived(
    ({ secret }: { readonly secret: string | null }) => besideSecret(secret, suffix),
    `It is the name in extenderCertificates.secret with -${suffix} in the place of -certificates.`,
  );
}

const table = {
  secret: text({
    default: null,
    pattern: /[^/\s]+\/[^/\s]+/,
    patternRule: "must be namespace/name",
    description:
      "Secret (namespace/name) in which the scheduler-plugin keeps the extender's authority and certificate of its own making: all replicas serve by them, in the place of scheduler.tlsCertFile, and demand client certificates of that authority. Where it is called NAME-certificates, the ConfigMap NAME-ca beside it tells whom to trust, and the Secrets NAME-kube-scheduler and NAME-decisions hold the client certificates of kube-scheduler and the aggregator. Without the setting none are made.",
  }),
  configMap: beside("ca"),
  kubeSchedulerSecret: beside("kube-scheduler"),
  decisionsSecret: beside("decisions"),
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
