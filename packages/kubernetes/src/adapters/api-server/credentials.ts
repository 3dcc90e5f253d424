import type { Agent } from "node:http";

export interface ConnectionTls {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly passphrase?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface Login {
  readonly server: URL;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly tls: ConnectionTls;
  readonly agent?: Agent;
}

/** Source of logins. Throws StoreError `unavailable` if files or plugin fail. */
export interface Credentials {
  login(): Promise<Login>;
  /** Call after a 401: the next login discards cached credentials. */
  forget(): void;
}
