// Keeps the webhook's certificates in a Secret that all replicas read, and the registration as those certificates need it. The leader writes;
// every write names the version that it was made from.
import { isStoreError, KINDS } from "@isochrone/kubernetes";
import type { ClusterStore, KubernetesObject } from "@isochrone/kubernetes";
import type { Clock, Logger } from "@isochrone/runtime";
import { bundleOf, dataOf, expiryMs, nextStep, trustedBy } from "./certificates.ts";
import type {
  Authority,
  CertificateBundle,
  CertificateRules,
  CertificateStep,
  KeyPair,
} from "./certificates.ts";
import type { WebhookMetrics } from "./metrics.ts";
import { isTrusted, register } from "./registration.ts";
import type { RegistrationOptions } from "./registration.ts";

/** How certificates come to be. */
export interface CertificateMaker {
  makeAuthority(commonName: string, validity: Validity): Promise<Authority>;
  issueCertificate(authority: Authority, hosts: readonly string[], validity: Validity): Promise<KeyPair>;
}

interface Validity {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

export interface CertificateKeeperOptions {
  readonly store: Pick<ClusterStore, "get" | "create" | "update">;
  /** Refuses writes of those that don't lead. */
  readonly leaderStore: Pick<ClusterStore, "get" | "create" | "update">;
  readonly isLeader: () => boolean;
  /** Whether the webhook was taken away on purpose: then nothing is made or registered. */
  readonly isRemoved: () => boolean;
  readonly namespace: string;
  readonly secretName: string;
  readonly rules: CertificateRules;
  readonly clockSkewMs: number;
  readonly trustDelayMs: number;
  readonly registration: RegistrationOptions;
  readonly maker: CertificateMaker;
  /** A pair to serve with from now on. */
  readonly onServing: (pair: KeyPair) => Promise<void> | void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Pick<WebhookMetrics, "expiry" | "registered" | "registrations" | "stepped">;
}

const AUTHORITY_NAME = "isochrone webhook authority";
/** A certificate's times are whole seconds. */
const SECOND_MS = 1000;

export class CertificateKeeper {
  readonly #options: CertificateKeeperOptions;
  /** What is served with. */
  #serving: string | null = null;
  /** The next authority, and since when this leader has seen it registered; monotonic. */
  #trusted: { readonly certificate: string; readonly sinceMs: number } | null = null;

  constructor(options: CertificateKeeperOptions) {
    this.#options = options;
  }

  /** Reads the Secret, serves by it, and, as the leader, does what is due. Rejects with StoreErrors of the way. */
  async check(): Promise<void> {
    const { store, isLeader, isRemoved, namespace, secretName } = this.#options;
    const secret = await store.get({ ...KINDS.secret, namespace, name: secretName });
    const bundle = bundleOf(secret);
    if (bundle !== null) await this.#use(bundle);
    if (!isLeader()) this.#trusted = null;
    if (!isLeader() || isRemoved()) return this.#options.metrics.registered.set(0);
    const current = await this.#advance(secret, bundle);
    if (current !== null) await this.#register(current);
  }

  /** Does the next step, if one is due; null: another one was faster, and the next check sees what it did. */
  async #advance(
    secret: KubernetesObject | null,
    bundle: CertificateBundle | null,
  ): Promise<CertificateBundle | null> {
    const { rules, clock, logger, metrics } = this.#options;
    const step = nextStep(bundle, rules, clock.now(), this.#isNextTrusted(bundle));
    if (step === null) return bundle;
    const made = await this.#made(step, bundle);
    if (!(await this.#write(secret, dataOf(made)))) return null;
    metrics.stepped(step);
    logger.info("the webhook's certificates were changed", {
      step,
      until: new Date(expiryMs(made.serving.certificate)).toISOString(),
    });
    await this.#use(made);
    return made;
  }

  async #made(step: CertificateStep, bundle: CertificateBundle | null): Promise<CertificateBundle> {
    if (step === "create" || bundle === null) {
      const authority = await this.#authority();
      return { authority, next: null, former: null, serving: await this.#issue(authority) };
    }
    const { authority, next } = bundle;
    switch (step) {
      case "prepare":
        return { ...bundle, next: await this.#authority() };
      case "switch":
        return {
          authority: next!,
          next: null,
          former: authority.certificate,
          serving: await this.#issue(next!),
        };
      case "renew":
        return { ...bundle, serving: await this.#issue(authority) };
      case "retire":
        return { ...bundle, former: null };
      default:
        return step satisfies never;
    }
  }

  async #authority(): Promise<Authority> {
    const { maker, rules } = this.#options;
    return maker.makeAuthority(AUTHORITY_NAME, this.#validity(rules.authorityLifetimeMs));
  }

  /** Never for longer than its authority is good. */
  async #issue(authority: Authority): Promise<KeyPair> {
    const { maker, rules } = this.#options;
    const validity = this.#validity(rules.certificateLifetimeMs);
    const notAfterMs = Math.min(validity.notAfterMs, expiryMs(authority.certificate));
    return maker.issueCertificate(authority, rules.hosts, { ...validity, notAfterMs });
  }

  #validity(lifetimeMs: number): Validity {
    const nowMs = Math.floor(this.#options.clock.now() / SECOND_MS) * SECOND_MS;
    return { notBeforeMs: nowMs - this.#options.clockSkewMs - SECOND_MS, notAfterMs: nowMs + lifetimeMs };
  }

  /** False when another one has written meanwhile. */
  async #write(secret: KubernetesObject | null, data: Record<string, string>): Promise<boolean> {
    const { leaderStore, namespace, secretName } = this.#options;
    try {
      if (secret === null)
        await leaderStore.create({
          ...KINDS.secret,
          metadata: { namespace, name: secretName },
          type: "Opaque",
          data,
        });
      else await leaderStore.update({ ...secret, data });
      return true;
    } catch (error) {
      const wasFirst = ["already_exists", "conflict", "not_found"] as const;
      if (wasFirst.some((code) => isStoreError(error, code))) return false;
      throw error;
    }
  }

  async #register(bundle: CertificateBundle): Promise<void> {
    const { leaderStore, registration, metrics, logger } = this.#options;
    metrics.registered.set(0);
    if (await register(leaderStore, registration, trustedBy(bundle))) {
      metrics.registrations.inc();
      logger.info("the webhook was registered");
    }
    await this.#noteTrust(bundle);
    metrics.registered.set(1);
  }

  /** By what is stored, not by what was written: a registration that somebody else keeps changing is no ground to go on. */
  async #noteTrust({ next }: CertificateBundle): Promise<void> {
    const { leaderStore, clock } = this.#options;
    if (next === null || !(await isTrusted(leaderStore, next.certificate))) this.#trusted = null;
    else if (this.#trusted?.certificate !== next.certificate)
      this.#trusted = { certificate: next.certificate, sinceMs: clock.monotonic() };
  }

  #isNextTrusted(bundle: CertificateBundle | null): boolean {
    const { clock, trustDelayMs } = this.#options;
    if (this.#trusted === null || this.#trusted.certificate !== bundle?.next?.certificate) return false;
    return clock.monotonic() - this.#trusted.sinceMs >= trustDelayMs;
  }

  async #use({ serving, authority }: CertificateBundle): Promise<void> {
    const { onServing, metrics } = this.#options;
    if (serving.certificate === this.#serving) return;
    await onServing(serving);
    this.#serving = serving.certificate;
    metrics.expiry.set({ certificate: "serving" }, expiryMs(serving.certificate) / SECOND_MS);
    metrics.expiry.set({ certificate: "authority" }, expiryMs(authority.certificate) / SECOND_MS);
  }
}
