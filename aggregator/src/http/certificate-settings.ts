import { constant, derived, list, section, text, type Section, type SettingsOf } from "@isochrone/runtime";
import { besideSecret, CERTIFICATE_SETTINGS } from "@isochrone/kubernetes";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const table = {
  secret: text({
    default: null,
    pattern: /[^/\s]+\/[^/\s]+/,
    patternRule: "must be namespace/name",
    description:
      "Secret (namespace/name) in which the aggregator keeps certificates of its own making: all replicas serve by them, in the place of aggregator.tlsCertFile. A ConfigMap beside it tells whom to trust (ca.crt); it is called NAME-ca where the Secret is NAME-certificates. Without the setting none are made.",
  }),
  configMap: derived(
    ({ secret }: { readonly secret: string | null }) => besideSecret(secret, "ca"),
    "It is the name in certificates.secret with -ca in the place of -certificates.",
  ),
  hosts: list({
    default: ["localhost", "127.0.0.1"],
    minItems: 1,
    maxItems: 100,
    description: "Names and addresses that the certificate is for; replicas know each other by the first.",
  }),
  checkMs: constant(10_000, "Certificates are renewed days before they end."),
  ...CERTIFICATE_SETTINGS,
  trustDelayMs: constant(HOUR_MS, "Kubelets renew mounted objects within minutes; an hour leaves room."),
  clockSkewMs: constant(DAY_MS, "It is a margin for nodes whose clocks are behind."),
};

/** Settings of the certificates that the aggregator makes for itself. */
export const certificateSettings: Section<"certificates", typeof table> = section("certificates", table, {
  description:
    "TLS of the graph API without certificates from elsewhere: the aggregator makes and renews its own.",
});

/** Values of {@link certificateSettings}. */
export type CertificateConfig = SettingsOf<typeof certificateSettings>;
