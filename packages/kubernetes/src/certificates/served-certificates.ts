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

interface ServedCertificatesConfig extends CertificateRules {
  /** namespace/name of the Secret. */
  readonly secret: string;
  readonly configMap: string;
  readonly checkMs: number;
  readonly clockSkewMs: number;
  readonly trustDelayMs: number;
}

interface ServedCertificatesOptions {
  readonly name: string;
  readonly config: ServedCertificatesConfig;
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ServedCertificatesMetrics;
  /** Runs after each check with usable certificates. Rejects with the store's errors. */
  readonly alsoCheck?: (bundle: CertificateBundle) => Promise<void>;
}

interface ServedCertificatesMetrics {
  readonly events: CertificateEvents;
  readonly failures: Counter<"reason">;
}

/**
 * Start-up wait for the API server or another replica's first certificates. Below the 30 s start limit of a
 * part, so that the error names the cause.
 */
const START_WITHIN_MS = 25_000;
const START_RETRY_MS = 500;

/**
 * A service's own certificates, started before its server. Any replica creates and renews them: none can be
 * elected before it listens with them. The API server accepts the first write.
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

  /** Waits for usable certificates. Rejects with the last error if there are none in time. */
  async start(): Promise<void> {
    const { clock } = this.#options;
    const deadlineMs = clock.monotonic() + START_WITHIN_MS;
    while (this.#bundle === null) {
      try {
        await this.#check();
      } catch (error) {
        // Existing certificates suffice for serving; the rest is retried.
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
 * @param section of the settings
 * @param elsewhere setting of external certificates
 * @throws SettingsError without a store, or with external certificates
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
