/** Whether a service can take work, and why not. */
export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

/** Open connections of a server. */
export const MAX_CONNECTIONS = 4096;
/** How long a server that closes waits for answers in flight. Milliseconds. */
export const CLOSE_DEADLINE_MS = 5000;

/** As Node's servers call them. Milliseconds. */
export const SERVER_TIMES = {
  requestTimeout: 30_000,
  /** A client that is slow to say what it wants holds a connection only. */
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
} as const;
