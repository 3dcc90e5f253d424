import {
  CertificateKeeper,
  configMapPublication,
  StoreError,
  trustedBy,
  type CertificateBundle,
  type CertificateEvents,
  type ClusterStore,
} from "@isochrone/kubernetes";
import {
  periodic,
  SettingsError,
  type Clock,
  type Logger,
  type Periodic,
  type Service,
} from "@isochrone/runtime";
import type { TlsMaterial } from "@isochrone/runtime/http";
import { Counter, Gauge, type Registry } from "prom-client";
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

/**
 * How long a start waits for the API server, or for another replica that makes the first certificates: less
 * than the 30 s that a part may take to start, so that the error has the reason.
 */
const START_WITHIN_MS = 25_000;
const START_RETRY_MS = 500;

/**
 * Null when none are wanted.
 * @throws SettingsError when there is nowhere to keep them, or when there are others
 */
export function openOwnCertificates(
  config: CertificateConfig,
  surroundings: OwnCertificatesSurroundings,
): OwnCertificates | null {
  const { secret } = config;
  if (secret === null) return null;
  const { store, certFile, ...rest } = surroundings;
  if (store === null)
    throw new SettingsError([
      `certificates.secret must not be set without an API server to keep it, got ${secret}`,
    ]);
  if (certFile !== null)
    throw new SettingsError([
      `certificates.secret must not be set together with aggregator.tlsCertFile (${certFile}), got ${secret}`,
    ]);
  return new OwnCertificates({ ...config, secret }, { ...rest, store });
}

type Config = CertificateConfig & { readonly secret: string };
type Surroundings = Omit<OwnCertificatesSurroundings, "certFile"> & { readonly store: ClusterStore };

/**
 * The aggregator's own certificates in a Secret. Any replica makes and renews them, not the leader alone:
 * none can listen, and so be elected, before the first are there; and of two who do the same, the API server
 * takes the first.
 */
export class OwnCertificates implements Service, KeptCertificates {
  readonly serverName: string;
  readonly checkMs: number;
  readonly #surroundings: Surroundings;
  readonly #keeper: CertificateKeeper;
  readonly #checks: Periodic;
  #bundle: CertificateBundle | null = null;

  constructor(config: Config, surroundings: Surroundings) {
    const { store, clock, logger, registry } = surroundings;
    const [namespace = "", secretName = ""] = config.secret.split("/");
    const metrics = createCertificateMetrics(registry);
    this.#surroundings = surroundings;
    this.serverName = config.hosts[0]!;
    this.checkMs = config.checkMs;
    this.#keeper = new CertificateKeeper({
      name: "graph API",
      store,
      writeStore: store,
      mayWrite: () => true,
      namespace,
      secretName,
      rules: config,
      clockSkewMs: config.clockSkewMs,
      trustDelayMs: config.trustDelayMs,
      publication: configMapPublication(store, namespace, config.configMap),
      onServing: (bundle) => void (this.#bundle = bundle),
      clock,
      logger,
      events: metrics.events,
    });
    this.#checks = periodic({
      clock,
      intervalMs: config.checkMs,
      run: () => this.#keeper.check(),
      onError: (error) => {
        metrics.failures.inc({ reason: error instanceof StoreError ? error.code : "other" });
        logger.warnOnce("own-certificates", "certificates can't be maintained, trying again", { error });
      },
    });
  }

  /** Until there is something to serve by. Rejects with the last reason when that takes too long. */
  async start(): Promise<void> {
    const { clock, logger } = this.#surroundings;
    const deadlineMs = clock.monotonic() + START_WITHIN_MS;
    while (this.#bundle === null) {
      try {
        await this.#keeper.check();
      } catch (error) {
        // What could be read or made is enough to serve by; the rest is tried again.
        if (this.#bundle === null && clock.monotonic() >= deadlineMs) throw error;
        logger.warnOnce("own-certificates", "certificates can't be maintained, trying again", { error });
      }
      if (this.#bundle === null) await clock.sleep(START_RETRY_MS);
    }
    this.#checks.start();
  }

  async stop(): Promise<void> {
    await this.#checks.stop();
  }

  current(): TlsMaterial {
    const { certificate: cert, key } = this.#started().serving;
    return { cert, key };
  }

  trusted(): string {
    return trustedBy(this.#started());
  }

  #started(): CertificateBundle {
    if (this.#bundle === null) throw new Error("there are no certificates before the start");
    return this.#bundle;
  }
}

function createCertificateMetrics(registry: Registry): {
  readonly events: CertificateEvents;
  readonly failures: Counter<"reason">;
} {
  const registers = [registry];
  const steps = new Counter({
    name: "isochrone_certificates_steps_total",
    help: "Changes of the graph API's own certificates by this replica (create, prepare and switch of an authority, renew, retire).",
    labelNames: ["step"],
    registers,
  });
  const failures = new Counter({
    name: "isochrone_certificates_failures_total",
    help: "Failed looks at the graph API's own certificates, by reason.",
    labelNames: ["reason"],
    registers,
  });
  const notAfter = new Gauge({
    name: "isochrone_certificates_not_after_seconds",
    help: "When one of the graph API's own certificates (serving, authority) ends, seconds since the epoch.",
    labelNames: ["certificate"],
    registers,
  });
  const isPublished = new Gauge({
    name: "isochrone_certificates_published",
    help: "1 while the ConfigMap says whom to trust as it should, else 0.",
    registers,
  });
  const events: CertificateEvents = {
    stepped: (step) => steps.inc({ step }),
    expires: (certificate, seconds) => notAfter.set({ certificate }, seconds),
    published: () => undefined,
    isPublished: (is) => isPublished.set(is ? 1 : 0),
  };
  return { events, failures };
}
