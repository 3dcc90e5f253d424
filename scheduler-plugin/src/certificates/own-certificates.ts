// Self-issued certificates of the extender and of its two allowed clients.
import {
  certificateStore,
  ClientCertificateKeeper,
  createServedCertificatesMetrics,
  ServedCertificates,
} from "@isochrone/kubernetes";
import type { CertificateBundle, ClusterStore } from "@isochrone/kubernetes";
import type { Clock, Logger, Service } from "@isochrone/runtime";
import type { ServerTlsOptions } from "@isochrone/runtime/http";
import type { Registry } from "prom-client";
import type { ExtenderCertificateConfig } from "./settings.ts";

/** Subject names of the client certificates; the extender's server requires one of them. */
const KUBE_SCHEDULER_CLIENT = "isochrone-kube-scheduler-client";
const DECISIONS_CLIENT = "isochrone-decisions-client";

interface OwnCertificatesSurroundings {
  /** Null: no API server to store certificates in. */
  readonly store: ClusterStore | null;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** `scheduler.tlsCertFile`: set if certificates come from elsewhere. */
  readonly certFile: string | null;
  readonly asksClients: boolean;
}

/** Start before the server that uses the certificates. */
export interface OwnCertificates extends Service {
  readonly tls: ServerTlsOptions;
}

const METRICS = {
  steps: {
    name: "isochrone_extender_certificates_steps_total",
    help: "Changes of the extender's own certificates by this replica (create, prepare and switch of an authority, renew, retire). After prepare kube-scheduler must be configured anew.",
  },
  failures: {
    name: "isochrone_extender_certificates_failures_total",
    help: "Failed looks at the extender's own certificates and those of its clients, by reason.",
  },
  notAfter: {
    name: "isochrone_extender_certificates_not_after_seconds",
    help: "When one of the extender's own certificates (serving, authority) ends, seconds since the epoch.",
  },
};

/**
 * Returns null if no certificates are wanted.
 * @throws SettingsError if there is no place to store them, or if there are others
 */
export function openOwnCertificates(
  config: ExtenderCertificateConfig,
  { store: wanted, certFile, asksClients, registry, ...around }: OwnCertificatesSurroundings,
): OwnCertificates | null {
  const { secret, checkMs } = config;
  if (secret === null) return null;
  const elsewhere = { setting: "scheduler.tlsCertFile", certFile };
  const store = certificateStore("extenderCertificates", secret, wanted, elsewhere);
  const clients = asksClients ? clientKeepers({ ...config, secret }, { ...around, store }) : [];
  const served = new ServedCertificates({
    ...around,
    name: "extender",
    config: { ...config, secret },
    store,
    metrics: createServedCertificatesMetrics(registry, METRICS),
    async alsoCheck(bundle: CertificateBundle) {
      for (const client of clients) await client.check(bundle);
    },
  });
  return {
    start: () => served.start(),
    stop: () => served.stop(),
    tls: {
      clock: around.clock,
      checkMs,
      current() {
        const { cert, key, trusted: ca } = served.current();
        return { cert, key, ca };
      },
      ...(asksClients ? { clientNames: [KUBE_SCHEDULER_CLIENT, DECISIONS_CLIENT] } : {}),
    },
  };
}

function clientKeepers(
  config: ExtenderCertificateConfig & { readonly secret: string },
  around: { readonly store: ClusterStore; readonly clock: Clock; readonly logger: Logger },
): ClientCertificateKeeper[] {
  const [namespace = ""] = config.secret.split("/");
  const common = { ...around, namespace, clockSkewMs: config.clockSkewMs };
  return [
    new ClientCertificateKeeper({
      ...common,
      secretName: config.kubeSchedulerSecret,
      clientName: KUBE_SCHEDULER_CLIENT,
      lifetimeMs: config.kubeSchedulerLifetimeMs,
    }),
    new ClientCertificateKeeper({
      ...common,
      secretName: config.decisionsSecret,
      clientName: DECISIONS_CLIENT,
      lifetimeMs: config.certificateLifetimeMs,
    }),
  ];
}
