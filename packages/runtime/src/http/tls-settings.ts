import type { Clock } from "../clock.ts";
import { list, text } from "../settings/texts.ts";
import type { ServerTlsOptions } from "./server-tls.ts";

export const SERVER_TLS_SETTINGS = {
  tlsCertFile: text({
    default: null,
    description:
      "PEM file of the certificate to serve with, and those between it and its authority. Without it the server speaks plain HTTP. Read again when it changes.",
  }),
  tlsKeyFile: text({ default: null, description: "PEM file of that certificate's key." }),
  tlsClientCaFile: text({
    default: null,
    description:
      "PEM file of the authorities of client certificates. With it every request but those for health and metrics needs one.",
  }),
  tlsClientNames: list({
    default: [],
    maxItems: 100,
    description:
      "Common names or DNS names of which a client certificate must carry one; empty: any that the authorities signed.",
  }),
};

interface TlsValues {
  readonly tlsCertFile: string | null;
  readonly tlsKeyFile: string | null;
  readonly tlsClientCaFile: string | null;
  readonly tlsClientNames: readonly string[];
}

export function serverTlsRules(section: string): ((values: TlsValues) => string | null)[] {
  return [
    ({ tlsCertFile, tlsKeyFile }) => {
      if ((tlsCertFile === null) === (tlsKeyFile === null)) return null;
      const [given, missing] =
        tlsCertFile === null ? ["tlsKeyFile", "tlsCertFile"] : ["tlsCertFile", "tlsKeyFile"];
      return `${section}.${missing} must be set together with ${section}.${given}, got none`;
    },
    ({ tlsCertFile, tlsClientCaFile }) =>
      tlsClientCaFile === null || tlsCertFile !== null
        ? null
        : `${section}.tlsClientCaFile must not be set without ${section}.tlsCertFile, got ${tlsClientCaFile}`,
    ({ tlsClientCaFile, tlsClientNames }) =>
      tlsClientNames.length === 0 || tlsClientCaFile !== null
        ? null
        : `${section}.tlsClientNames must not be set without ${section}.tlsClientCaFile, got ${tlsClientNames.join(", ")}`,
  ];
}

export function serverTlsOf(values: TlsValues, clock: Clock): ServerTlsOptions | undefined {
  const { tlsCertFile: certFile, tlsKeyFile: keyFile, tlsClientCaFile, tlsClientNames } = values;
  if (certFile === null || keyFile === null) return undefined;
  return { certFile, keyFile, clientCaFile: tlsClientCaFile, clientNames: tlsClientNames, clock };
}
