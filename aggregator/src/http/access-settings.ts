import {
  caFileSetting,
  certFileSetting,
  clientCertificateMistake,
  clientFilesMistake,
  keyFileSetting,
  text,
  tokenFileSetting,
} from "@isochrone/runtime";
import { ALLOWED_HOSTS_SETTING, SERVER_TLS_SETTINGS, serverTlsRules } from "@isochrone/runtime/http";

/** Certificates and names of the graph API, and this replica's client credentials. */
export const ACCESS_SETTINGS = {
  ...SERVER_TLS_SETTINGS,
  allowedHosts: ALLOWED_HOSTS_SETTING,
  replicaTokenFile: tokenFileSetting("the other replicas"),
  replicaCaFile: caFileSetting("the other replicas"),
  replicaServerName: text({
    default: null,
    description:
      "Name that the certificates of the other replicas must carry, since they are reached by address. Without it the address itself; only with aggregator.replicaCaFile.",
  }),
  decisionsTokenFile: tokenFileSetting("the scheduler-plugin"),
  decisionsCaFile: caFileSetting("the scheduler-plugin"),
  decisionsCertFile: certFileSetting("the scheduler-plugin"),
  decisionsKeyFile: keyFileSetting("the scheduler-plugin"),
};

interface AccessValues {
  readonly replicaCaFile: string | null;
  readonly replicaServerName: string | null;
  readonly decisionsUrl: string | null;
  readonly decisionsTokenFile: string | null;
  readonly decisionsCaFile: string | null;
  readonly decisionsCertFile: string | null;
  readonly decisionsKeyFile: string | null;
}

export const ACCESS_RULES = [
  ...serverTlsRules("aggregator"),
  ({ replicaCaFile, replicaServerName }: AccessValues): string | null =>
    replicaServerName === null || replicaCaFile !== null
      ? null
      : `aggregator.replicaServerName must not be set without aggregator.replicaCaFile, got ${replicaServerName}`,
  ({ decisionsUrl, decisionsTokenFile, decisionsCaFile }: AccessValues): string | null =>
    decisionsUrl === null
      ? null
      : clientFilesMistake("aggregator", { decisionsUrl }, { decisionsTokenFile }, { decisionsCaFile }),
  ({ decisionsUrl, decisionsCertFile, decisionsKeyFile }: AccessValues): string | null =>
    clientCertificateMistake("aggregator", { decisionsUrl }, { decisionsCertFile }, { decisionsKeyFile }),
];
