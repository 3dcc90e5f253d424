import type { Clock, Logger, Random } from "@isochrone/runtime";

import { BinaryKinds } from "./binary-kinds.ts";
import { ApiClient } from "./client.ts";
import type { ApiServerObserver, LaneOptions } from "./client.ts";
import type { Credentials } from "./credentials.ts";
import { InClusterCredentials } from "./in-cluster.ts";
import { KubeconfigCredentials } from "./kubeconfig.ts";
import { Resources } from "./resources.ts";
import { ApiServerStore } from "./store.ts";
import type { ApiServerStoreParts } from "./store.ts";
import { StoreError } from "../../store/errors.ts";
import type { ClusterStore, InformerObserver } from "../../store/port.ts";

export interface ApiServerStoreOptions {
  /** A kubeconfig's current context, or a pod's service account by kubelet's environment variables. */
  readonly credentials:
    | { readonly kubeconfig: string }
    | { readonly inCluster: Readonly<Record<string, string | undefined>>; readonly folder?: string }
    | Credentials;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly userAgent?: string;
  readonly fieldManager?: string;
  /** Per attempt, answer included; for a watch, until it starts. @default 30000 */
  readonly requestTimeoutMs?: number;
  /** Requests per second, and their burst. @default 50 and 100 */
  readonly qps?: number;
  readonly burst?: number;
  /** Concurrent requests; others queue. Watches don't count. @default 16 */
  readonly maxConnections?: number;
  readonly pageSize?: number;
  /** Restarts a watch after this silence; bookmarks come about every minute. @default 100000 */
  readonly watchSilenceMs?: number;
  /** Also observes informers over this store. */
  readonly observer?: ApiServerObserver & InformerObserver;
}

export interface ApiServerClusterStore extends ClusterStore {
  close(): void;
  /** A view for requests that must not queue behind, or delay, others. @default this store's limits */
  lane(options: Partial<LaneOptions>): ClusterStore;
}

const DEFAULTS = {
  userAgent: "isochrone",
  fieldManager: "isochrone",
  requestTimeoutMs: 30_000,
  qps: 50,
  burst: 100,
  maxConnections: 16,
  pageSize: 500,
  watchSilenceMs: 100_000,
};

/** Sends nothing: errors appear with the first call. Throws StoreError `invalid` for options out of range. */
export function createApiServerStore(options: ApiServerStoreOptions): ApiServerClusterStore {
  const resolved = { ...DEFAULTS, ...options };
  for (const name of [
    "requestTimeoutMs",
    "qps",
    "burst",
    "maxConnections",
    "pageSize",
    "watchSilenceMs",
  ] as const) {
    if (resolved[name] > 0 && Number.isFinite(resolved[name])) continue;
    throw new StoreError(
      "invalid",
      `${name} of the API server's store must be more than 0, got ${resolved[name]}`,
    );
  }
  const { clock, random, observer = {}, fieldManager, pageSize, watchSilenceMs: maxSilenceMs } = resolved;
  const client = new ApiClient({ ...resolved, observer, credentials: credentialsOf(resolved) });
  const resources = new Resources(client);
  const binary = new BinaryKinds(resolved.logger, observer);
  const parts = { client, binary, resources, clock, random, observer, fieldManager, pageSize, maxSilenceMs };
  return new ClosableStore(parts, observer) as ApiServerClusterStore;
}

class ClosableStore extends ApiServerStore {
  readonly informerObserver: InformerObserver;
  readonly #parts: ApiServerStoreParts;

  constructor(parts: ApiServerStoreParts, observer: InformerObserver) {
    super(parts);
    this.informerObserver = observer;
    this.#parts = parts;
  }

  lane(options: Partial<LaneOptions>): ClusterStore {
    return new ApiServerStore({ ...this.#parts, client: this.#parts.client.lane(options) }) as ClusterStore;
  }

  close(): void {
    this.#parts.client.close();
  }
}

function credentialsOf({ credentials, clock }: ApiServerStoreOptions): Credentials {
  if ("kubeconfig" in credentials) return new KubeconfigCredentials(credentials.kubeconfig, clock);
  if (!("inCluster" in credentials)) return credentials;
  const { inCluster: env, folder } = credentials;
  return new InClusterCredentials({ clock, env, ...(folder === undefined ? {} : { folder }) });
}
