// The extender's certificates of its own making, and those of the two clients that may ask it.
import {
  CertificateKeeper,
  ClientCertificateKeeper,
  configMapPublication,
  StoreError,
  trustedBy,
} from "@isochrone/kubernetes";
import type { CertificateBundle, ClusterStore } from "@isochrone/kubernetes";
import { periodic, SettingsError } from "@isochrone/runtime";
import type { Clock, Logger, Periodic, Service } from "@isochrone/runtime";
import type { ServerTlsOptions } from "@isochrone/runtime/http";
import type { Registry } from "prom-client";
import { createCertificateMetrics } from "./metrics.ts";
import type { CertificateMetrics } from "./metrics.ts";
import type { ExtenderCertificateConfig } from "./settings.ts";

/** Names that clients' certificates carry, of which the extender's server demands one. */
const KUBE_SCHEDULER_CLIENT = "isochrone-kube-scheduler-client";
const DECISIONS_CLIENT = "isochrone-decisions-client";

/** What certificates are kept with. */
interface OwnCertificatesSurroundings {
  /** Null: this process has no API server to keep them in. */
  readonly store: ClusterStore | null;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
  /** `scheduler.tlsCertFile`: where certificates come from elsewhere. */
  readonly certFile: string | null;
  /** Whether clients must show a certificate. */
  readonly asksClients: boolean;
}

/** How long a start waits for the API server, or for another replica that makes the first certificates. */
const START_WITHIN_MS = 60_000;
const START_RETRY_MS = 500;
const UNKEPT = "the extender's certificates can't be maintained, trying again";

/**
 * Null when none are wanted.
 * @throws SettingsError when there is nowhere to keep them, or when there are others
 */
export function openOwnCertificates(
  config: ExtenderCertificateConfig,
  surroundings: OwnCertificatesSurroundings,
): OwnCertificates | null {
  const { secret } = config;
  if (secret === null) return null;
  const { store, certFile, ...rest } = surroundings;
  if (store === null)
    throw new SettingsError([
      `extenderCertificates.secret must not be set without an API server to keep it, got ${secret}`,
    ]);
  if (certFile !== null)
    throw new SettingsError([
      `extenderCertificates.secret must not be set together with scheduler.tlsCertFile (${certFile}), got ${secret}`,
    ]);
  return new OwnCertificates({ ...config, secret }, { ...rest, store });
}

type Config = ExtenderCertificateConfig & { readonly secret: string };
type Surroundings = Omit<OwnCertificatesSurroundings, "certFile"> & { readonly store: ClusterStore };

/**
 * To be started before the server that serves by them. Any replica makes and renews them: the API server
 * takes the first of two writes.
 */
export class OwnCertificates implements Service {
  /** For the extender's server. */
  readonly tls: ServerTlsOptions;
  readonly #surroundings: Surroundings;
  readonly #keeper: CertificateKeeper;
  readonly #clients: readonly ClientCertificateKeeper[];
  readonly #metrics: CertificateMetrics;
  readonly #checks: Periodic;
  #bundle: CertificateBundle | null = null;

  constructor(config: Config, surroundings: Surroundings) {
    const { store, clock, logger, registry, asksClients } = surroundings;
    const [namespace = "", secretName = ""] = config.secret.split("/");
    this.#surroundings = surroundings;
    this.#metrics = createCertificateMetrics(registry);
    this.tls = {
      clock,
      checkMs: config.checkMs,
      current: () => this.#material(),
      ...(asksClients ? { clientNames: [KUBE_SCHEDULER_CLIENT, DECISIONS_CLIENT] } : {}),
    };
    this.#keeper = new CertificateKeeper({
      name: "extender",
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
      events: this.#metrics.events,
    });
    const common = { store, namespace, clockSkewMs: config.clockSkewMs, clock, logger };
    this.#clients = asksClients
      ? [
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
        ]
      : [];
    this.#checks = periodic({
      clock,
      intervalMs: config.checkMs,
      run: () => this.#check(),
      onError: (error) => this.#failed(error),
    });
  }

  /** Until there is something to serve by. Rejects with the last reason when that takes too long. */
  async start(): Promise<void> {
    const { clock } = this.#surroundings;
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

  async #check(): Promise<void> {
    await this.#keeper.check();
    if (this.#bundle === null) return;
    for (const client of this.#clients) await client.check(this.#bundle);
  }

  #failed(error: unknown): void {
    this.#metrics.failures.inc({ reason: error instanceof StoreError ? error.code : "other" });
    this.#surroundings.logger.warnOnce("extender-certificates", UNKEPT, { error });
  }

  #material(): { readonly cert: string; readonly key: string; readonly ca: string } {
    if (this.#bundle === null) throw new Error("there are no certificates before the start");
    const { certificate: cert, key } = this.#bundle.serving;
    return { cert, key, ca: trustedBy(this.#bundle) };
  }
}
