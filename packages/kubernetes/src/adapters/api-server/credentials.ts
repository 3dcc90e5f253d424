import type { Agent } from "node:http";

/** TLS of a connection, as node:https takes it. */
export interface ConnectionTls {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly passphrase?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Where requests go now, and what they prove themselves with. */
export interface Login {
  readonly server: URL;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly tls: ConnectionTls;
  /** Reaches the server through a proxy. */
  readonly agent?: Agent;
}

/**
 * How requests are authenticated. Throws StoreError `unavailable` when the files or the plugin can't be had.
 */
export interface Credentials {
  login(): Promise<Login>;
  /** The server took none of it (401): what is remembered is had anew for the next login. */
  forget(): void;
}
