// Credentials for kubelets: service account token and trusted authorities. Both files change at run time.
import { codeOf } from "@isochrone/primitives";
import { readFile } from "node:fs/promises";
import { Agent } from "node:https";
import { X509Certificate } from "node:crypto";
import { ScrapeError } from "../ports/errors.ts";
import type { Target } from "../ports/ports.ts";

export interface KubeletAccessOptions {
  /** Trusted authorities (PEM); null: the system's. */
  readonly caFile: string | null;
  readonly tokenFile: string | null;
  /** Name required in the certificate; null: the address. */
  readonly serverName: string | null;
  /** Accepts every certificate. Any server at the address gets the token. */
  readonly insecureSkipVerify: boolean;
}

interface KubeletCredentials {
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string>>;
}

const IDLE_MS = 90_000;

/** Reads both files per request, since tokens rotate. New authorities need new connections. */
export class KubeletAccess {
  readonly #options: KubeletAccessOptions;
  #agent: Agent | null = null;
  #agentCa: string | null = null;

  constructor(options: KubeletAccessOptions) {
    this.#options = options;
  }

  /** Throws ScrapeError `credentials` if a file is unusable. */
  async of(target: Target): Promise<KubeletCredentials> {
    const { caFile, tokenFile, insecureSkipVerify } = this.#options;
    const ca =
      caFile === null || insecureSkipVerify ? null : await read(target, caFile, "collector.kubeletCaFile");
    if (ca !== null && caFile !== null && (this.#agent === null || ca !== this.#agentCa))
      checkAuthorities(target, caFile, ca);
    const token =
      tokenFile === null ? null : (await read(target, tokenFile, "collector.kubeletTokenFile")).trim();
    if (token !== null && !/^[\x21-\x7e]+$/.test(token))
      throw credentials(
        target,
        `collector.kubeletTokenFile must hold one token, ${tokenFile} holds something else`,
      );
    return {
      agent: this.#agentFor(ca),
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
    };
  }

  close(): void {
    this.#agent?.destroy();
    this.#agent = null;
  }

  #agentFor(ca: string | null): Agent {
    if (this.#agent !== null && ca === this.#agentCa) return this.#agent;
    this.#agent?.destroy();
    const { serverName, insecureSkipVerify } = this.#options;
    this.#agentCa = ca;
    this.#agent = new Agent({
      keepAlive: true,
      timeout: IDLE_MS,
      rejectUnauthorized: !insecureSkipVerify,
      ...(ca === null ? {} : { ca }),
      ...(serverName === null ? {} : { servername: serverName }),
    });
    return this.#agent;
  }
}

async function read(target: Target, path: string, setting: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = codeOf(error) ?? "unreadable";
    throw credentials(target, `${setting} must be a readable file, ${path} is not (${code})`, error);
  }
}

function checkAuthorities(target: Target, path: string, pem: string): void {
  try {
    void new X509Certificate(pem);
  } catch (error) {
    throw credentials(
      target,
      `collector.kubeletCaFile must hold certificates (PEM), ${path} holds none that can be read`,
      error,
    );
  }
}

function credentials(target: Target, message: string, cause?: unknown): ScrapeError {
  return new ScrapeError("credentials", `${target.url} can't be asked: ${message}`, { cause });
}
