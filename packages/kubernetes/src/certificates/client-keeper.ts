// Keeps a client's certificate in a Secret, without the authority's key.
import { X509Certificate } from "node:crypto";
import type { Clock, Logger } from "@isochrone/runtime";
import { isStoreError } from "../store/errors.ts";
import { looseFields, looseText } from "@isochrone/primitives";
import { KINDS } from "../kinds.ts";
import type { ClusterStore, KubernetesObject } from "../store/port.ts";
import { expiryMs, RENEW_AT, trustedBy, usablePair } from "./bundle.ts";
import type { Authority, CertificateBundle, KeyPair } from "./bundle.ts";
import { issueClientCertificate } from "./x509.ts";

interface ClientCertificateOptions {
  readonly store: Pick<ClusterStore, "get" | "create" | "update">;
  readonly namespace: string;
  readonly secretName: string;
  readonly clientName: string;
  /** Lifetime of a certificate. Renewed at a third of it, or if the authority changes. */
  readonly lifetimeMs: number;
  readonly clockSkewMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

const SECOND_MS = 1000;
const ENTRIES = { authority: "ca.crt", certificate: "tls.crt", key: "tls.key" } as const;

/** The Secret contains `tls.crt`, `tls.key` and the server's authorities in `ca.crt`. */
export class ClientCertificateKeeper {
  readonly #options: ClientCertificateOptions;

  constructor(options: ClientCertificateOptions) {
    this.#options = options;
  }

  /**
   * Creates or renews the Secret. Safe on several replicas: the first write wins. Rejects with StoreErrors.
   */
  async check(bundle: CertificateBundle): Promise<void> {
    const { store, namespace, secretName, clientName, logger } = this.#options;
    const secret = await store.get({ ...KINDS.secret, namespace, name: secretName });
    const stored = entriesOf(secret);
    const trusted = trustedBy(bundle);
    const isGood = stored.pair !== null && this.#isGood(stored.pair.certificate, bundle.authority);
    if (isGood && stored.trusted === trusted) return;
    const pair = isGood ? stored.pair : await this.#issue(bundle.authority);
    const written = await this.#write(secret, {
      [ENTRIES.authority]: trusted,
      [ENTRIES.certificate]: pair.certificate,
      [ENTRIES.key]: pair.key,
    });
    if (!written || isGood) return;
    logger.info("a client's certificate was made", {
      client: clientName,
      secret: `${namespace}/${secretName}`,
      until: new Date(expiryMs(pair.certificate)).toISOString(),
    });
  }

  #isGood(certificate: string, authority: Authority): boolean {
    const { clientName, lifetimeMs, clock } = this.#options;
    const read = new X509Certificate(certificate);
    if (read.checkHost(clientName) === undefined) return false;
    if (!read.verify(new X509Certificate(authority.certificate).publicKey)) return false;
    const leftMs = expiryMs(certificate) - clock.now();
    const isLimited = expiryMs(certificate) >= expiryMs(authority.certificate) - SECOND_MS;
    return leftMs > 0 && (leftMs >= lifetimeMs * RENEW_AT || isLimited);
  }

  async #issue(authority: Authority): Promise<KeyPair> {
    const { clientName, lifetimeMs, clockSkewMs, clock } = this.#options;
    const nowMs = Math.floor(clock.now() / SECOND_MS) * SECOND_MS;
    return issueClientCertificate(authority, clientName, {
      notBeforeMs: nowMs - clockSkewMs - SECOND_MS,
      notAfterMs: Math.min(nowMs + lifetimeMs, expiryMs(authority.certificate)),
    });
  }

  /** Returns false if another replica wrote first; the next check sees its result. */
  async #write(secret: KubernetesObject | null, texts: Readonly<Record<string, string>>): Promise<boolean> {
    const { store, namespace, secretName } = this.#options;
    const data = Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
    );
    try {
      if (secret === null)
        await store.create({
          ...KINDS.secret,
          metadata: { namespace, name: secretName, labels: { "app.kubernetes.io/part-of": "isochrone" } },
          type: "Opaque",
          data,
        });
      else await store.update({ ...secret, data });
      return true;
    } catch (error) {
      const wasFirst = ["already_exists", "conflict", "not_found"] as const;
      if (wasFirst.some((code) => isStoreError(error, code))) return false;
      throw error;
    }
  }
}

function entriesOf(secret: KubernetesObject | null): {
  readonly pair: KeyPair | null;
  readonly trusted: string;
} {
  const data = looseFields(secret?.data);
  const textOf = (name: string): string => Buffer.from(looseText(data[name]), "base64").toString();
  return {
    pair: usablePair({ certificate: textOf(ENTRIES.certificate), key: textOf(ENTRIES.key) }),
    trusted: textOf(ENTRIES.authority),
  };
}
