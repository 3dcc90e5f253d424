import { reasonOf } from "@isochrone/primitives";
import type { FastifyInstance } from "fastify";
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext, Server } from "node:tls";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Clock } from "../clock.ts";
import { ListenError } from "../errors.ts";
import type { Logger } from "../log.ts";
import { periodic, type Periodic } from "../periodic.ts";
import { ClientCertificates } from "./client-certificates.ts";
import type { RequestGate } from "./gate.ts";
import { reuse } from "./http-metrics.ts";

export type ServerTlsOptions = ServerTlsFiles | ServerTlsKept;

interface ServerTlsCommon {
  readonly clock: Clock;
  /** Interval of checking certificates. @default 10000 */
  readonly checkMs?: number;
}

export interface ServerTlsFiles extends ServerTlsCommon {
  /** PEM: server certificate, then intermediates. */
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM: authorities of client certificates, which are then required except for health. */
  readonly clientCaFile?: string | null;
  /** Common or DNS names, one of which a client certificate must have. @default any certificate */
  readonly clientNames?: readonly string[];
}

interface ServerTlsKept extends ServerTlsCommon {
  /** Current material; `ca`: authorities of client certificates, if required. */
  readonly current: () => TlsMaterial;
  /** See {@link ServerTlsFiles}; requires client certificates except for health. @default not required */
  readonly clientNames?: readonly string[];
}

export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}

const DEFAULT_CHECK_MS = 10_000;
const MIN_VERSION = "TLSv1.2";

/**
 * Reloads a server's certificates. Polls file contents, because mounted Secrets swap links, which file
 * watching reports late or never. Unusable files leave the old certificates in place.
 */
export class ServerTls {
  readonly #options: ServerTlsOptions;
  readonly #logger: Logger;
  readonly #metrics: TlsMetrics;
  readonly #name: string;
  readonly #clients: ClientCertificates | null;
  readonly #loop: Periodic;
  #material: TlsMaterial;
  #server: Server | null = null;

  private constructor(options: ServerTlsOptions, material: TlsMaterial, surroundings: TlsSurroundings) {
    const { clock, checkMs } = options;
    const { logger, name, registry } = surroundings;
    this.#options = options;
    this.#material = material;
    this.#logger = logger;
    this.#name = name;
    this.#metrics = tlsMetrics(registry);
    this.#metrics.notAfter.set({ server: name }, expiryOf(material));
    this.#clients = asksClients(options)
      ? new ClientCertificates({ server: name, names: options.clientNames ?? [], clock, logger, registry })
      : null;
    this.#loop = periodic({
      clock,
      intervalMs: checkMs ?? DEFAULT_CHECK_MS,
      run: () => this.#check(),
      onError: (error) => this.#refused(error),
    });
  }

  /** Throws ListenError for unusable files: the server doesn't start without certificates. */
  static async load(options: ServerTlsOptions, surroundings: TlsSurroundings): Promise<ServerTls> {
    try {
      return new ServerTls(options, await readMaterial(options), surroundings);
    } catch (error) {
      throw new ListenError(`cannot serve TLS: ${reasonOf(error)}`, error);
    }
  }

  get serverOptions(): object {
    const requestCert = asksClients(this.#options);
    // Client certificates are checked per request, so that health works without one.
    return { ...contextOf(this.#material), requestCert, rejectUnauthorized: false };
  }

  install(app: FastifyInstance): void {
    app.addHook("onListen", async () => {
      if (app.server instanceof Server) this.#server = app.server;
      this.#loop.start();
    });
    app.addHook("onClose", async () => this.#loop.stop());
  }

  get gate(): RequestGate | null {
    return this.#clients;
  }

  async #check(): Promise<void> {
    const material = await readMaterial(this.#options);
    const { cert, key, ca } = this.#material;
    if (material.cert === cert && material.key === key && material.ca === ca) return;
    this.#server?.setSecureContext(contextOf(material));
    this.#material = material;
    this.#metrics.reloads.inc({ server: this.#name, result: "taken" });
    this.#metrics.notAfter.set({ server: this.#name }, expiryOf(material));
    this.#logger.info("new certificates in use", {
      server: this.#name,
      notAfter: new Date(expiryOf(material) * 1000).toISOString(),
    });
  }

  #refused(error: unknown): void {
    this.#metrics.reloads.inc({ server: this.#name, result: "refused" });
    this.#logger.warnOnce(`tls:${this.#name}`, "changed certificates can't be used; the old ones stay", {
      server: this.#name,
      error,
    });
  }
}

interface TlsSurroundings {
  readonly name: string;
  readonly logger: Logger;
  readonly registry: Registry;
}

interface TlsMetrics {
  readonly reloads: Counter;
  readonly notAfter: Gauge;
}

const RELOADS_TOTAL = "isochrone_tls_reloads_total";
const NOT_AFTER_SECONDS = "isochrone_tls_certificate_not_after_seconds";

function tlsMetrics(registry: Registry): TlsMetrics {
  const reloads = reuse(registry, RELOADS_TOTAL, () => {
    return new Counter({
      name: RELOADS_TOTAL,
      help: "Changed certificate files that were taken, and looks at files that could not be used.",
      labelNames: ["server", "result"],
      registers: [registry],
    });
  });
  const notAfter = reuse(registry, NOT_AFTER_SECONDS, () => {
    return new Gauge({
      name: NOT_AFTER_SECONDS,
      help: "When the certificate in use ends, seconds since the epoch.",
      labelNames: ["server"],
      registers: [registry],
    });
  });
  return { reloads, notAfter };
}

function asksClients(options: ServerTlsOptions): boolean {
  return "certFile" in options ? typeof options.clientCaFile === "string" : options.clientNames !== undefined;
}

/** Reads and validates the files. Rejects naming file and fault. */
async function readMaterial(options: ServerTlsOptions): Promise<TlsMaterial> {
  if ("current" in options) return options.current();
  const { certFile, keyFile, clientCaFile } = options;
  const [cert, key, ca] = await Promise.all([
    read("certificate", certFile),
    read("key", keyFile),
    typeof clientCaFile === "string" ? read("file of client authorities", clientCaFile) : undefined,
  ]);
  attempt(`the certificate ${certFile}`, () => new X509Certificate(cert));
  if (ca !== undefined)
    attempt(`the file of client authorities ${String(clientCaFile)}`, () => new X509Certificate(ca));
  const material = { cert, key, ...(ca === undefined ? {} : { ca }) };
  attempt(`the pair ${certFile} and ${keyFile}`, () => createSecureContext(contextOf(material)));
  return material;
}

async function read(what: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new Error(`the ${what} ${path} must be a readable file (${reasonOf(error)})`, { cause: error });
  }
}

function attempt(what: string, use: () => unknown): void {
  try {
    use();
  } catch (error) {
    throw new Error(`${what} can't be used (${reasonOf(error)})`, { cause: error });
  }
}

function contextOf(material: TlsMaterial): TlsMaterial & { readonly minVersion: typeof MIN_VERSION } {
  return { ...material, minVersion: MIN_VERSION };
}

function expiryOf({ cert }: TlsMaterial): number {
  return Math.floor(Date.parse(new X509Certificate(cert).validTo) / 1000);
}
