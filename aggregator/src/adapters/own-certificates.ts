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

/** What certificates are kept with. */
interface OwnCertificatesSurroundings {
  /** Null: this process has no API server to keep them in. */
  readonly store: ClusterStore | null;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** `aggregator.tlsCertFile`: where certificates come from elsewhere. */
  readonly certFile: string | null;
}

/** Certificates that this process serves by, and knows the authorities of. */
export interface KeptCertificates {
  current(): TlsMaterial;
  /** PEM of the authorities that the replicas' certificates may come from. */
  trusted(): string;
  /** Name that all replicas' certificates carry. */
  readonly serverName: string;
  /** How often a server looks for other ones. */
  readonly checkMs: number;
}

/** The certificates, as a part that is started before everything that uses them. */
export type OwnCertificates = Service & KeptCertificates;

/**
 * Null when none are wanted.
 * @throws SettingsError when there is nowhere to keep them, or when there are others
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
