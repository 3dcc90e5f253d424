// A pod's service account. Avoids the client library, whose generated models cost 80 MiB and a second.
import type { Clock } from "@isochrone/runtime";
import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import { join } from "node:path";

import { StoreError } from "../../store/errors.ts";
import type { Credentials, Login } from "./credentials.ts";

const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Token reread interval. kubelet rotates a token minutes before it expires. */
const KEPT_MS = 30_000;

type Environment = Readonly<Record<string, string | undefined>>;

interface InClusterOptions {
  readonly clock: Clock;
  readonly env: Environment;
  readonly folder?: string;
}

export function isInCluster(env: Environment): boolean {
  return Boolean(env["KUBERNETES_SERVICE_HOST"] && env["KUBERNETES_SERVICE_PORT"]);
}

/** Namespace of this pod. Null: unknown. */
export async function inClusterNamespace(folder = SERVICE_ACCOUNT_FOLDER): Promise<string | null> {
  const namespace = await readFile(join(folder, "namespace"), "utf8").catch(() => "");
  return namespace.trim() || null;
}

export class InClusterCredentials implements Credentials {
  readonly #clock: Clock;
  readonly #folder: string;
  readonly #server: URL;
  #login: Login | null = null;
  #readAtMs = 0;

  constructor({ clock, env, folder = SERVICE_ACCOUNT_FOLDER }: InClusterOptions) {
    this.#clock = clock;
    this.#folder = folder;
    const [host = "", port = ""] = [env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"]];
    this.#server = new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`);
  }

  async login(): Promise<Login> {
    const nowMs = this.#clock.monotonic();
    if (this.#login && nowMs - this.#readAtMs < KEPT_MS) return this.#login;
    const [ca, token] = await Promise.all([this.#read("ca.crt"), this.#read("token")]);
    this.#readAtMs = nowMs;
    this.#login = { server: this.#server, headers: { authorization: `Bearer ${token.trim()}` }, tls: { ca } };
    return this.#login;
  }

  forget(): void {
    this.#login = null;
  }

  async #read(name: string): Promise<string> {
    const path = join(this.#folder, name);
    try {
      return await readFile(path, "utf8");
    } catch (error) {
      throw new StoreError("unavailable", `the service account's ${path} can't be read: ${String(error)}`, {
        cause: error,
      });
    }
  }
}
