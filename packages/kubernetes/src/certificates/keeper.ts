// Keeps a server's certificates in a Secret for all replicas, and publishes the authorities to trust. Writes
// are conditional on the version read.
import type { Clock, Logger } from "@isochrone/runtime";
import { isStoreError } from "../store/errors.ts";
import { KINDS } from "../kinds.ts";
import type { ClusterStore, KubernetesObject } from "../store/port.ts";
import { bundleOf, dataOf, expiryMs, nextStep, trustedBy } from "./bundle.ts";
import type { CertificateBundle, CertificateRules, CertificateStep, KeyPair, Authority } from "./bundle.ts";
import { issueCertificate, makeAuthority, type Validity } from "./x509.ts";

/** Tells clients which authorities to trust. */
export interface TrustPublication {
  /** Publishes PEM. Returns true if something was written. Throws the store's errors. */
  publish(trusted: string): Promise<boolean>;
  /** Whether the authority (PEM) is published. Throws the store's errors. */
  holds(authority: string): Promise<boolean>;
}

export interface CertificateEvents {
  stepped(step: CertificateStep): void;
  /** Expiry of the certificates in use, Unix seconds. */
  expires(certificate: "serving" | "authority", notAfterSeconds: number): void;
  published(): void;
  /** Whether this replica has verified the publication. */
  isPublished(is: boolean): void;
}

interface CertificateKeeperOptions {
  readonly name: string;
  readonly store: Pick<ClusterStore, "get" | "create" | "update">;
  /** Store for writes; may reject those of replicas that don't lead. */
  readonly writeStore: Pick<ClusterStore, "get" | "create" | "update">;
  /** Whether this replica may act. Several may: the first write wins. */
  readonly mayWrite: () => boolean;
  readonly namespace: string;
  readonly secretName: string;
  readonly rules: CertificateRules;
  readonly clockSkewMs: number;
  readonly trustDelayMs: number;
  readonly publication: TrustPublication;
  readonly onServing: (bundle: CertificateBundle) => Promise<void> | void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: CertificateEvents;
}

/** Certificate times are whole seconds. */
const SECOND_MS = 1000;

export class CertificateKeeper {
  readonly #options: CertificateKeeperOptions;
  #inUse: string | null = null;
  /** The next authority, and since when this replica has seen it published (monotonic). */
  #trusted: { readonly certificate: string; readonly sinceMs: number } | null = null;

  constructor(options: CertificateKeeperOptions) {
    this.#options = options;
  }

  /** Reads the Secret, serves it, and takes the next step if allowed. Rejects with StoreErrors. */
  async check(): Promise<void> {
    const { store, mayWrite, namespace, secretName, events } = this.#options;
    const secret = await store.get({ ...KINDS.secret, namespace, name: secretName });
    const bundle = bundleOf(secret);
    if (bundle !== null) await this.#use(bundle);
    if (!mayWrite()) {
      this.#trusted = null;
      return events.isPublished(false);
    }
    const current = await this.#advance(secret, bundle);
    if (current !== null) await this.#publish(current);
  }

  /** Takes the next step, if due. Null: another replica was faster. */
  async #advance(
    secret: KubernetesObject | null,
    bundle: CertificateBundle | null,
  ): Promise<CertificateBundle | null> {
    const { name, rules, clock, logger, events } = this.#options;
    const step = nextStep(bundle, rules, clock.now(), this.#isNextTrusted(bundle));
    if (step === null) return bundle;
    const made = await this.#made(step, bundle);
    if (!(await this.#write(secret, dataOf(made)))) return null;
    events.stepped(step);
    logger.info(`certificates of the ${name} were changed`, {
      step,
      until: new Date(expiryMs(made.serving.certificate)).toISOString(),
    });
    await this.#use(made);
    return made;
  }

  async #made(step: CertificateStep, bundle: CertificateBundle | null): Promise<CertificateBundle> {
    if (step === "create" || bundle === null) {
      const authority = await this.#authority();
      return { authority, next: null, previous: null, serving: await this.#issue(authority) };
    }
    const { authority, next } = bundle;
    switch (step) {
      case "prepare":
        return { ...bundle, next: await this.#authority() };
      case "switch":
        return {
          authority: next!,
          next: null,
          previous: authority.certificate,
          serving: await this.#issue(next!),
        };
      case "renew":
        return { ...bundle, serving: await this.#issue(authority) };
      case "retire":
        return { ...bundle, previous: null };
      default:
        return step satisfies never;
    }
  }

  async #authority(): Promise<Authority> {
    const { name, rules } = this.#options;
    return makeAuthority(`isochrone ${name} authority`, this.#validity(rules.authorityLifetimeMs));
  }

  /** Issues a certificate that doesn't outlive its authority. */
  async #issue(authority: Authority): Promise<KeyPair> {
    const { rules } = this.#options;
    const validity = this.#validity(rules.certificateLifetimeMs);
    const notAfterMs = Math.min(validity.notAfterMs, expiryMs(authority.certificate));
    return issueCertificate(authority, rules.hosts, { ...validity, notAfterMs });
  }

  #validity(lifetimeMs: number): Validity {
    const nowMs = Math.floor(this.#options.clock.now() / SECOND_MS) * SECOND_MS;
    return { notBeforeMs: nowMs - this.#options.clockSkewMs - SECOND_MS, notAfterMs: nowMs + lifetimeMs };
  }

  async #write(secret: KubernetesObject | null, data: Record<string, string>): Promise<boolean> {
    const { writeStore, namespace, secretName } = this.#options;
    try {
      if (secret === null)
        await writeStore.create({
          ...KINDS.secret,
          metadata: { namespace, name: secretName },
          type: "Opaque",
          data,
        });
      else await writeStore.update({ ...secret, data });
      return true;
    } catch (error) {
      const wasFirst = ["already_exists", "conflict", "not_found"] as const;
      if (wasFirst.some((code) => isStoreError(error, code))) return false;
      throw error;
    }
  }

  async #publish(bundle: CertificateBundle): Promise<void> {
    const { name, publication, events, logger } = this.#options;
    events.isPublished(false);
    if (await publication.publish(trustedBy(bundle))) {
      events.published();
      logger.info(`trusted authorities of the ${name} were published`);
    }
    await this.#noteTrust(bundle);
    events.isPublished(true);
  }

  /** Judges by the stored publication, because another writer may keep changing it. */
  async #noteTrust({ next }: CertificateBundle): Promise<void> {
    const { publication, clock } = this.#options;
    if (next === null || !(await publication.holds(next.certificate))) this.#trusted = null;
    else if (this.#trusted?.certificate !== next.certificate)
      this.#trusted = { certificate: next.certificate, sinceMs: clock.monotonic() };
  }

  #isNextTrusted(bundle: CertificateBundle | null): boolean {
    const { clock, trustDelayMs } = this.#options;
    if (this.#trusted === null || this.#trusted.certificate !== bundle?.next?.certificate) return false;
    return clock.monotonic() - this.#trusted.sinceMs >= trustDelayMs;
  }

  async #use(bundle: CertificateBundle): Promise<void> {
    const { onServing, events } = this.#options;
    const { serving, authority } = bundle;
    const inUse = `${serving.certificate}${trustedBy(bundle)}`;
    if (inUse === this.#inUse) return;
    await onServing(bundle);
    this.#inUse = inUse;
    events.expires("serving", expiryMs(serving.certificate) / SECOND_MS);
    events.expires("authority", expiryMs(authority.certificate) / SECOND_MS);
  }
}
