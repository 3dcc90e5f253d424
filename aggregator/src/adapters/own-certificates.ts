import {
  certificateStore,
  createServedCertificatesMetrics,
  ServedCertificates,
  type ClusterStore,
} from "@isochrone/kubernetes";
import type { Clock, Logger, Service } from "@isochrone/runtime";
import type { TlsMaterial } from "@isochrone/runtime/http";
import { Gauge, type Registry } from "prom-client";
import type { CertificateConfig } from "../http/certificate-settings.ts";

interface OwnCertificatesSurroundings {
  readonly store: ClusterStore | null;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Value of `aggregator.tlsCertFile`; set if certificates come from elsewhere. */
  readonly certFile: string | null;
}

export interface KeptCertificates {
  current(): TlsMaterial;
  /** PEM of all authorities that may have signed a replica's certificate. */
  trusted(): string;
  readonly serverName: string;
  readonly checkMs: number;
}

/** Start before all users of the certificates. */
export type OwnCertificates = Service & KeptCertificates;

/**
 * Null: none wanted.
 * @throws SettingsError without a store for them, or if certificate files are set as well
 */
export function openOwnCertificates(
  config: CertificateConfig,
  { store: wanted, certFile, registry, ...around }: OwnCertificatesSurroundings,
): OwnCertificates | null {
  const { secret, hosts, checkMs } = config;
  if (secret === null) return null;
  const elsewhere = { setting: "aggregator.tlsCertFile", certFile };
  const store = certificateStore("certificates", secret, wanted, elsewhere);
  const metrics = createCertificateMetrics(registry);
  const served = new ServedCertificates({
    ...around,
    name: "graph API",
    config: { ...config, secret },
    store,
    metrics,
  });
  return {
    start: () => served.start(),
    stop: () => served.stop(),
    current() {
      const { cert, key } = served.current();
      return { cert, key };
    },
    trusted: () => served.current().trusted,
    serverName: hosts[0]!,
    checkMs,
  };
}

function createCertificateMetrics(registry: Registry): ReturnType<typeof createServedCertificatesMetrics> {
  const isPublished = new Gauge({
    name: "isochrone_certificates_published",
    help: "1 while the ConfigMap says whom to trust as it should, else 0.",
    registers: [registry],
  });
  const metrics = {
    steps: {
      name: "isochrone_certificates_steps_total",
      help: "Changes of the graph API's own certificates by this replica (create, prepare and switch of an authority, renew, retire).",
    },
    failures: {
      name: "isochrone_certificates_failures_total",
      help: "Failed looks at the graph API's own certificates, by reason.",
    },
    notAfter: {
      name: "isochrone_certificates_not_after_seconds",
      help: "When one of the graph API's own certificates (serving, authority) ends, seconds since the epoch.",
    },
  };
  return createServedCertificatesMetrics(registry, metrics, (is) => isPublished.set(is ? 1 : 0));
}
