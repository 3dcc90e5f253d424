import { withDeadline } from "@isochrone/runtime";
import type { Clock } from "@isochrone/runtime";
import type { KubeConfig } from "@kubernetes/client-node";
import { stat } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { delimiter } from "node:path";

import { codeOf, reasonOf } from "@isochrone/primitives";
import { CredentialsError, StoreError } from "../../store/errors.ts";
import type { ConnectionTls, Credentials, Login } from "./credentials.ts";
import type { ProxyEnv } from "./proxy.ts";

/** Rereads files at this interval for rotation; plugin tokens have their own expiry. */
const KEPT_MS = 10_000;
/** A plugin that prompts an absent user must not block requests for ever. */
const PLUGIN_DEADLINE_MS = 30_000;

interface KubeconfigOptions {
  readonly context?: string | undefined;
  /** Proxies (HTTPS_PROXY, HTTP_PROXY, NO_PROXY) for clusters without `proxy-url`. */
  readonly env?: ProxyEnv;
}

interface Loaded {
  readonly config: KubeConfig;
  readonly more: Login["headers"];
  readonly changed: string;
}

/** Uses the client library for exec plugins, OIDC, client certificates and proxies. Loads it lazily. */
export class KubeconfigCredentials implements Credentials {
  readonly #clock: Clock;
  readonly #files: readonly string[];
  readonly #options: KubeconfigOptions;
  #loaded: Loaded | null = null;
  #login: Login | null = null;
  #readAtMs = 0;
  #reading: Promise<Login> | null = null;

  /** @param files missing ones among several are ignored, as in KUBECONFIG */
  constructor(files: string | readonly string[], clock: Clock, options: KubeconfigOptions = {}) {
    this.#files = typeof files === "string" ? [files] : files;
    this.#options = options;
    this.#clock = clock;
  }

  async login(): Promise<Login> {
    if (this.#login && this.#clock.monotonic() - this.#readAtMs < KEPT_MS) return this.#login;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return await this.#reading;
  }

  forget(): void {
    this.#login = null;
    this.#loaded = null;
  }

  /** Namespace of the current context. Null: it has none. */
  async namespace(): Promise<string | null> {
    const { config } = await this.#load();
    return config.getContextObject(config.getCurrentContext())?.namespace ?? null;
  }

  async #read(): Promise<Login> {
    const readAtMs = this.#clock.monotonic();
    try {
      const { config, more } = await this.#load();
      const options: RequestOptions = { headers: {} };
      await withDeadline(this.#clock, PLUGIN_DEADLINE_MS, `credentials of ${this.#name()}`, () =>
        config.applyToHTTPSOptions(options),
      );
      this.#login = loginOf(config, options, more);
    } catch (error) {
      if (error instanceof StoreError) throw error;
      const reason = reasonOf(error);
      throw new CredentialsError(
        "unavailable",
        `kubeconfig ${this.#name()} gives no credentials: ${reason}`,
        {
          cause: error,
        },
      );
    }
    this.#readAtMs = readAtMs;
    return this.#login;
  }

  async #load(): Promise<Loaded> {
    const files: string[] = [];
    const times: number[] = [];
    for (const file of this.#files) {
      const found = await stat(file).catch((error: unknown) => {
        if (this.#files.length > 1 && codeOf(error) === "ENOENT") return null;
        throw error;
      });
      if (found === null) continue;
      files.push(file);
      times.push(found.mtimeMs);
    }
    if (files.length === 0) throw new Error(`none of the files exists: ${this.#name()}`);
    const changed = JSON.stringify([files, times]);
    if (this.#loaded?.changed === changed) return this.#loaded;
    const [{ KubeConfig }, { impersonationHeaders, mergedKubeconfig }] = await Promise.all([
      import("@kubernetes/client-node"),
      import("./kubeconfig-files.ts"),
    ]);
    const { context, env = {} } = this.#options;
    const merged = mergedKubeconfig(files, env);
    const config = new KubeConfig();
    config.loadFromString(JSON.stringify(merged));
    if (context !== undefined) useContext(config, context);
    const more = impersonationHeaders(merged, config.getCurrentUser()?.name);
    this.#loaded = { config, more, changed };
    return this.#loaded;
  }

  #name(): string {
    return this.#files.join(delimiter);
  }
}

function useContext(config: KubeConfig, context: string): void {
  if (config.getContextObject(context) === null) {
    const names = config.getContexts().map(({ name }) => name);
    throw new Error(`it has no context ${JSON.stringify(context)}, but ${names.join(", ") || "none"}`);
  }
  config.setCurrentContext(context);
}

function loginOf(config: KubeConfig, options: RequestOptions, more: Login["headers"]): Login {
  const cluster = config.getCurrentCluster();
  if (!cluster)
    throw new Error(`its current context ${config.getCurrentContext()} names no cluster with a server`);
  if (!config.getCurrentUser())
    throw new Error(`its current context ${config.getCurrentContext()} names a user that isn't there`);
  const headers: Record<string, string | string[]> = { ...more };
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
