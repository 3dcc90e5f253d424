export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

export const MAX_CONNECTIONS = 4096;
/** Time that a closing server waits for answers. Milliseconds. */
export const CLOSE_DEADLINE_MS = 5000;

/** Named as in Node's servers. Milliseconds. */
export const SERVER_TIMES = {
  requestTimeout: 30_000,
  /** A client slow to send its headers only holds a connection. */
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
} as const;
