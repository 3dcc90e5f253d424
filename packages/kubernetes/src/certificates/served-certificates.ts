import {
  periodic,
  SettingsError,
  type Clock,
  type Logger,
  type Periodic,
  type Service,
} from "@isochrone/runtime";
import { Counter, Gauge, type Registry } from "prom-client";
import { StoreError } from "../store/errors.ts";
import type { ClusterStore } from "../store/port.ts";
import { trustedBy, type CertificateBundle, type CertificateRules } from "./bundle.ts";
import { configMapPublication } from "./config-map.ts";
import { CertificateKeeper, type CertificateEvents } from "./keeper.ts";

/** Settings of a service that makes certificates of its own. */
interface ServedCertificatesConfig extends CertificateRules {
  /** namespace/name of the Secret. */
  readonly secret: string;
  /** Beside it, for those who are to trust them. */
  readonly configMap: string;
  readonly checkMs: number;
  readonly clockSkewMs: number;
  readonly trustDelayMs: number;
}

interface ServedCertificatesOptions {
  /** Whose they are, for logs and for the authority's name: "graph API". */
  readonly name: string;
  readonly config: ServedCertificatesConfig;
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ServedCertificatesMetrics;
  /** What else is due at each check, once there is something to serve by. Rejects with the store's errors. */
  readonly alsoCheck?: (bundle: CertificateBundle) => Promise<void>;
}

interface ServedCertificatesMetrics {
  readonly events: CertificateEvents;
  readonly failures: Counter<"reason">;
}

/**
 * How long a start waits for the API server, or for another replica that makes the first certificates: less
 * than the 30 s that a part may take to start, so that the error has the reason.
 */
const START_WITHIN_MS = 25_000;
const START_RETRY_MS = 500;

/**
 * A service's own certificates in a Secret, to be started before the server that serves by them. Any replica
 * makes and renews them, not the leader alone: none can listen, and so be elected, before the first are
 * there; and of two who do the same, the API server takes the first.
 */
export class ServedCertificates implements Service {
  readonly #options: ServedCertificatesOptions;
  readonly #keeper: CertificateKeeper;
  readonly #checks: Periodic;
  #bundle: CertificateBundle | null = null;

  constructor(options: ServedCertificatesOptions) {
    const { name, config, store, clock, logger, metrics } = options;
    const [namespace = "", secretName = ""] = config.secret.split("/");
    this.#options = options;
    this.#keeper = new CertificateKeeper({
      name,
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
      run: () => this.#check(),
      onError: (error) => this.#failed(error),
    });
  }

  /** Until there is something to serve by. Rejects with the last reason when that takes too long. */
  async start(): Promise<void> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonic() + START_WITHIN_MS;
    while (this.#bundle === null) {
      try {
        await this.#check();
      } catch (error) {
        // What could be read or made is enough to serve by; the rest is tried again.
        if (this.#bundle === null && clock.monotonic() >= deadlineMs) throw error;
        this.#failed(error);
      }
      if (this.#bundle === null) await clock.sleep(START_RETRY_MS);
    }
    this.#checks.start();
  }

  async stop(): Promise<void> {
    await this.#checks.stop();
  }

  /** What to serve with, and the authorities (PEM) that it may come from. Throws before the start. */
  current(): { readonly cert: string; readonly key: string; readonly trusted: string } {
    if (this.#bundle === null) throw new Error("there are no certificates before the start");
    const { certificate: cert, key } = this.#bundle.serving;
    return { cert, key, trusted: trustedBy(this.#bundle) };
  }

  async #check(): Promise<void> {
    await this.#keeper.check();
    if (this.#bundle !== null) await this.#options.alsoCheck?.(this.#bundle);
  }

  #failed(error: unknown): void {
    const { name, logger, metrics } = this.#options;
    metrics.failures.inc({ reason: error instanceof StoreError ? error.code : "other" });
    logger.warnOnce("own-certificates", `certificates of the ${name} can't be maintained, trying again`, {
      error,
    });
  }
}

/**
 * The store that certificates are kept in.
 * @param section of the settings @param elsewhere the setting of certificates from elsewhere
 * @throws SettingsError when there is no store, or when there are certificates from elsewhere
 */
export function certificateStore(
  section: string,
  secret: string,
  store: ClusterStore | null,
  elsewhere: { readonly setting: string; readonly certFile: string | null },
): ClusterStore {
  if (store === null)
    throw new SettingsError([
      `${section}.secret must not be set without an API server to keep it, got ${secret}`,
    ]);
  if (elsewhere.certFile !== null)
    throw new SettingsError([
      `${section}.secret must not be set together with ${elsewhere.setting} (${elsewhere.certFile}), got ${secret}`,
    ]);
  return store;
}

interface NamedMetric {
  readonly name: string;
  readonly help: string;
}

/** @param metrics names, and what they say of this service's certificates */
export function createServedCertificatesMetrics(
  registry: Registry,
  metrics: { readonly steps: NamedMetric; readonly failures: NamedMetric; readonly notAfter: NamedMetric },
  isPublished: (is: boolean) => void = () => undefined,
): ServedCertificatesMetrics {
  const registers = [registry];
  const steps = new Counter({ ...metrics.steps, labelNames: ["step"], registers });
  const failures = new Counter({ ...metrics.failures, labelNames: ["reason"], registers });
  const notAfter = new Gauge({ ...metrics.notAfter, labelNames: ["certificate"], registers });
  const events: CertificateEvents = {
    stepped: (step) => steps.inc({ step }),
    expires: (certificate, seconds) => notAfter.set({ certificate }, seconds),
    published: () => undefined,
    isPublished,
  };
  return { events, failures };
}
