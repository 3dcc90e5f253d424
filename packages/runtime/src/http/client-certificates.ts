import type { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { Refusal, RequestGate } from "./gate.ts";
import { reuse } from "./http-metrics.ts";

interface ClientCertificateOptions {
  readonly server: string;
  /** Common or DNS names, one of which is required; empty: any certificate of the authorities. */
  readonly names: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** Why a client is refused; a metric label. */
type Reason = "none" | "expired" | "not_yet_valid" | "untrusted" | "name";

const SHOWN_NOT_AFTER_SECONDS = "isochrone_tls_shown_certificate_not_after_seconds";
const REFUSED_TOTAL = "isochrone_tls_clients_refused_total";
const REASONS: Readonly<Record<string, Reason>> = {
  CERT_HAS_EXPIRED: "expired",
  CERT_NOT_YET_VALID: "not_yet_valid",
};

/** Refuses requests without a valid client certificate, logs which, and counts. */
export class ClientCertificates implements RequestGate {
  readonly #options: ClientCertificateOptions;
  readonly #refused: Counter;
  readonly #shownNotAfter: Gauge;
  /** Certificate expiry by connection: it is verified once and may expire before the connection ends. */
  readonly #endsMs = new WeakMap<Socket, number>();

  constructor(options: ClientCertificateOptions) {
    const { registry } = options;
    this.#options = options;
    this.#refused = reuse(registry, REFUSED_TOTAL, () => {
      return new Counter({
        name: REFUSED_TOTAL,
        help: "Requests refused for want of a good client certificate; reason is none, expired, not_yet_valid, untrusted or name.",
        labelNames: ["server", "reason"],
        registers: [registry],
      });
    });
    this.#shownNotAfter = reuse(registry, SHOWN_NOT_AFTER_SECONDS, () => {
      return new Gauge({
        name: SHOWN_NOT_AFTER_SECONDS,
        help: "When the certificate ends that a client of this name showed last, seconds since the epoch. Of the names that are allowed.",
        labelNames: ["server", "client"],
        registers: [registry],
      });
    });
  }

  check({ socket }: { readonly socket: Socket | null }): Refusal | null {
    // A request that is made inside of this process comes over no socket.
    if (!(socket instanceof TLSSocket)) return null;
    const certificate = socket.getPeerX509Certificate();
    // Check both: for resumed sessions `authorized` alone isn't sufficient.
    if (certificate === undefined)
      return this.#refuse("none", "a client certificate of a known authority is needed: none was sent");
    if (!socket.authorized) {
      const error = String(socket.authorizationError);
      const reason = REASONS[error] ?? "untrusted";
      return this.#refuse(
        reason,
        reason === "expired"
          ? expired(certificate)
          : `a client certificate of a known authority is needed: ${error}`,
        certificate,
      );
    }
    if (this.#endOf(socket, certificate) <= this.#options.clock.now())
      return this.#refuse("expired", expired(certificate), certificate);
    const { names, server } = this.#options;
    if (names.length === 0) return null;
    const shown = namesOf(certificate);
    const client = names.find((name) => shown.includes(name));
    if (client !== undefined) {
      this.#shownNotAfter.set({ server, client }, this.#endOf(socket, certificate) / 1000);
      return null;
    }
    const detail = `the client certificate must carry one of the names ${names.join(", ")}`;
    return this.#refuse("name", detail, certificate);
  }

  #endOf(socket: Socket, certificate: X509Certificate): number {
    let endMs = this.#endsMs.get(socket);
    if (endMs === undefined) this.#endsMs.set(socket, (endMs = Date.parse(certificate.validTo)));
    return endMs;
  }

  #refuse(reason: Reason, detail: string, certificate?: X509Certificate): Refusal {
    const { server, logger } = this.#options;
    this.#refused.inc({ server, reason });
    // Port probes have none; a wrong certificate is worth logging.
    if (certificate !== undefined)
      logger.warnOnce(`tls-client:${server}:${reason}`, "clients with such a certificate are turned away", {
        server,
        reason,
        subject: certificate.subject.replaceAll("\n", ", "),
        notAfter: certificate.validTo,
      });
    // A client shows a new certificate only on a new connection.
    return { status: 401, code: "client_certificate", detail, headers: { connection: "close" } };
  }
}

function expired({ validTo }: X509Certificate): string {
  return `the client certificate has expired, it ended ${validTo}: CERT_HAS_EXPIRED`;
}

function namesOf(certificate: X509Certificate): string[] {
  const commonName = /^CN=(.*)$/m.exec(certificate.subject)?.[1];
  const alternatives = (certificate.subjectAltName ?? "")
    .split(", ")
    .filter((entry) => entry.startsWith("DNS:"))
    .map((entry) => entry.slice("DNS:".length));
  return commonName === undefined ? alternatives : [commonName, ...alternatives];
}
