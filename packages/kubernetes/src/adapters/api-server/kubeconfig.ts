import { withDeadline } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import type { KubeConfig } from "@kubernetes/client-node";
import { stat } from "node:fs/promises";
import type { RequestOptions } from "node:https";

import { reasonOf } from "@isochrone/primitives";
import { StoreError } from "../../store/errors.ts";
import type { ConnectionTls, Credentials, Login } from "./credentials.ts";

/**
 * Files are looked at this often, so that rotated ones are taken up; tokens of plugins live as long as they
 * say.
 */
const KEPT_MS = 10_000;
/** A plugin that waits for a person who isn't there must not hold up every request for ever. */
const PLUGIN_DEADLINE_MS = 30_000;

/**
 * Credentials of a kubeconfig's current context, or of another one of it. The client library reads it: exec
 * plugins, OIDC, client certificates, proxies, impersonation. It is loaded only here, for it is large.
 */
export class KubeconfigCredentials implements Credentials {
  readonly #clock: Clock;
  readonly #file: string;
  readonly #context: string | undefined;
  #config: KubeConfig | null = null;
  #changedAtMs = 0;
  #login: Login | null = null;
  #readAtMs = 0;
  #reading: Promise<Login> | null = null;

  constructor(file: string, clock: Clock, context?: string) {
    this.#file = file;
    this.#context = context;
    this.#clock = clock;
  }

  async login(): Promise<Login> {
    if (this.#login && this.#clock.monotonic() - this.#readAtMs < KEPT_MS) return this.#login;
    // Many requests at once ask the plugin once.
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return await this.#reading;
  }

  forget(): void {
    this.#login = null;
    this.#config = null;
  }

  /** The namespace of the current context, null when it names none. */
  async namespace(): Promise<string | null> {
    const config = await this.#loaded();
    return config.getContextObject(config.getCurrentContext())?.namespace ?? null;
  }

  async #read(): Promise<Login> {
    const readAtMs = this.#clock.monotonic();
    try {
      const config = await this.#loaded();
      const options: RequestOptions = { headers: {} };
      await withDeadline(this.#clock, PLUGIN_DEADLINE_MS, `credentials of ${this.#file}`, () =>
        config.applyToHTTPSOptions(options),
      );
      this.#login = loginOf(config, options);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      const reason = reasonOf(error);
      throw new StoreError("unavailable", `kubeconfig ${this.#file} gives no credentials: ${reason}`, {
        cause: error,
      });
    }
    this.#readAtMs = readAtMs;
    return this.#login;
  }

  async #loaded(): Promise<KubeConfig> {
    const { mtimeMs } = await stat(this.#file);
    if (this.#config && mtimeMs === this.#changedAtMs) return this.#config;
    const { KubeConfig } = await import("@kubernetes/client-node");
    const config = new KubeConfig();
    config.loadFromFile(this.#file);
    if (this.#context !== undefined) useContext(config, this.#context);
    this.#changedAtMs = mtimeMs;
    this.#config = config;
    return config;
  }
}

function useContext(config: KubeConfig, context: string): void {
  if (config.getContextObject(context) === null) {
    const names = config.getContexts().map(({ name }) => name);
    throw new Error(`it has no context ${JSON.stringify(context)}, but ${names.join(", ") || "none"}`);
  }
  config.setCurrentContext(context);
}

function loginOf(config: KubeConfig, options: RequestOptions): Login {
  const cluster = config.getCurrentCluster();
  if (!cluster) throw new Error(`its current context ${config.getCurrentContext()} names no cluster`);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {}))
    headers[name.toLowerCase()] = String(value).trim();
  if (options.auth) headers["authorization"] = `Basic ${Buffer.from(options.auth).toString("base64")}`;
  const { ca, cert, key, passphrase, servername, rejectUnauthorized } = options;
  const given = { ca, cert, key, passphrase, servername, rejectUnauthorized };
  const tls: ConnectionTls = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  );
  return {
    server: new URL(cluster.server),
    headers,
    tls,
    ...(cluster.proxyUrl && typeof options.agent === "object" ? { agent: options.agent } : {}),
  };
}
