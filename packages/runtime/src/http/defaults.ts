export interface Readiness {
  readonly ready: boolean;
  readonly reasons: readonly string[];
}

export const MAX_CONNECTIONS = 4096;
export const CLOSE_DEADLINE_MS = 5000;

export const SERVER_TIMES = {
  requestTimeout: 30_000,
  headersTimeout: 10_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5000,
} as const;
