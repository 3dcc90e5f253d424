import { X509Certificate } from "node:crypto";
import { Agent } from "node:https";
import { createSecureContext } from "node:tls";
import type { Clock } from "../clock.ts";
import { CredentialsError } from "../errors.ts";
import { WatchedFile } from "./credential-files.ts";

interface TlsAgentOptions {
  readonly caFile?: string | null;
  readonly ca?: (() => string) | null;
  readonly serverName?: string | null;
  readonly certFile?: string | null;
  readonly keyFile?: string | null;
  /** Called with the expiry of a newly used certificate, Unix seconds. */
  readonly onCertificate?: (notAfterSeconds: number) => void;
  readonly clock: Clock;
  readonly idleMs: number;
}

interface Material {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** TLS connections with credentials from files; replacements apply to the next request. */
export class TlsAgent {
  readonly #options: TlsAgentOptions;
  readonly #files: Readonly<Partial<Record<keyof Material, WatchedFile>>>;
  #material: string | null = null;
  #agent: Agent | null = null;

  constructor(options: TlsAgentOptions) {
    const { caFile, certFile, keyFile, clock } = options;
    this.#options = options;
    this.#files = {
      ...(caFile ? { ca: new WatchedFile(caFile, clock) } : {}),
      ...(certFile ? { cert: new WatchedFile(certFile, clock) } : {}),
      ...(keyFile ? { key: new WatchedFile(keyFile, clock) } : {}),
    };
  }

  /** Throws CredentialsError. */
  async agent(): Promise<Agent> {
    let material = await this.#read();
    const asRead = JSON.stringify(material);
    if (this.#agent !== null && asRead === this.#material) return this.#agent;
    // Two files can't be replaced or read atomically.
    if (!isPair(material)) material = await this.#readAgain();
    try {
      this.#check(material);
    } catch (error) {
      // Mismatched or half-written files are reread by each request until they match.
      this.#forget();
      throw error;
    }
    if (this.#agent !== null) retire(this.#agent);
    this.#material = JSON.stringify(material);
    const { serverName: servername = null, onCertificate, idleMs: timeout } = this.#options;
    if (material.cert !== undefined)
      onCertificate?.(Math.floor(Date.parse(new X509Certificate(material.cert).validTo) / 1000));
    const named = servername === null ? {} : { servername };
    this.#agent = new Agent({ keepAlive: true, timeout, ...material, ...named });
    return this.#agent;
  }

  async #read(): Promise<Material> {
    const entries = Object.entries(this.#files).map(
      async ([part, file]) => [part, await file.content()] as const,
    );
    const { ca = null } = this.#options;
    const known = ca === null ? {} : { ca: ca() };
    return { ...known, ...Object.fromEntries(await Promise.all(entries)) };
  }

  #readAgain(): Promise<Material> {
    this.#forget();
    return this.#read();
  }

  #forget(): void {
    for (const file of Object.values(this.#files)) file.forget();
  }

  #check(material: Material): void {
    const { caFile, certFile, keyFile } = this.#options;
    if (material.ca !== undefined && caFile) checkCertificates(material.ca, caFile);
    if (material.cert !== undefined) checkCertificates(material.cert, certFile!);
    if (isPair(material)) return;
    throw new CredentialsError(`${keyFile} must hold the key (PEM) of the certificate ${certFile}`);
  }
}

/** Lets requests in flight finish, then closes their connections. */
function retire(agent: Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) socket.destroy();
}

function checkCertificates(pem: string, path: string): void {
  try {
    void new X509Certificate(pem);
  } catch (error) {
    throw new CredentialsError(`${path} must hold certificates (PEM)`, error);
  }
}

function isPair({ cert, key }: Material): boolean {
  if (cert === undefined && key === undefined) return true;
  try {
    void createSecureContext({ cert, key });
    return cert !== undefined && key !== undefined;
  } catch {
    return false;
  }
}
