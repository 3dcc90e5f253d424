import { CERTIFICATE_SETTINGS, certificateRules } from "@isochrone/kubernetes";
import { duration, list, section, text, type Section, type SettingsOf } from "@isochrone/runtime";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const table = {
  secret: text({
    default: null,
    pattern: /[^/\s]+\/[^/\s]+/,
    patternRule: "must be namespace/name",
    description:
      "Secret (namespace/name) in which the aggregator keeps certificates of its own making: all replicas serve by them, in the place of aggregator.tlsCertFile. Without it none are made.",
  }),
  configMap: text({
    default: "isochrone-aggregator-ca",
    description:
      "ConfigMap beside it whose entry ca.crt tells whom to trust: for the CA files of those who use the graph API.",
  }),
  hosts: list({
    default: ["localhost", "127.0.0.1"],
    minItems: 1,
    maxItems: 100,
    description: "Names and addresses that the certificate is for; replicas know each other by the first.",
  }),
  checkMs: duration({
    default: 10_000,
    min: 50,
    max: HOUR_MS,
    description: "How often the Secret and the ConfigMap are looked at.",
  }),
  ...CERTIFICATE_SETTINGS,
  trustDelayMs: duration({
    default: HOUR_MS,
    min: 100,
    max: 7 * DAY_MS,
    description:
      "How long a new authority must have been in the ConfigMap before it signs: kubelets are to have brought it to all pods then, which takes them minutes.",
  }),
  clockSkewMs: duration({
    default: DAY_MS,
    min: 0,
    max: 30 * DAY_MS,
    description: "Certificates are good from so long ago on, for nodes whose clocks are behind.",
  }),
};

/** Settings of the certificates that the aggregator makes for itself. */
export const certificateSettings: Section<"certificates", typeof table> = section("certificates", table, {
  description:
    "TLS of the graph API without certificates from elsewhere: the aggregator makes and renews its own.",
  rules: [...certificateRules("certificates", "checkMs")],
});

/** Values of {@link certificateSettings}. */
export type CertificateConfig = SettingsOf<typeof certificateSettings>;
