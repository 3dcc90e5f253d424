// A real cluster, for the commands that ask one.
import type { ClusterStore } from "@isochrone/kubernetes";
import {
  createApiServerStore,
  InClusterCredentials,
  KubeconfigCredentials,
} from "@isochrone/kubernetes/api-server";
import type { Credentials } from "@isochrone/kubernetes/api-server";
import { createLogger, systemClock, systemRandom } from "@isochrone/runtime";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

interface OpenedStore {
  readonly store: ClusterStore;
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 10_000;

/**
 * As kubectl finds its cluster: the file, else the first of $KUBECONFIG, else the service account of the pod,
 * else ~/.kube/config; its current context, unless another one is named.
 */
export function openStore(kubeconfig: string | undefined, context?: string): OpenedStore {
  return openStoreWith(clusterCredentials(kubeconfig, context).credentials);
}

export function openStoreWith(credentials: Credentials): OpenedStore {
  const store = createApiServerStore({
    credentials,
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({ service: "isochrone", level: "error" }),
    userAgent: "isochrone-cli",
    requestTimeoutMs: REQUEST_TIMEOUT_MS,
  });
  return {
    store,
    close: () => Promise.resolve(store.close()),
  };
}

/** The credentials, and where they are from, in words. */
export function clusterCredentials(
  kubeconfig: string | undefined,
  context?: string,
): { readonly credentials: Credentials; readonly source: string; readonly file: string | null } {
  const { env } = process;
  const [first] = (env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  const named = kubeconfig ?? first;
  if (named === undefined && context === undefined && Boolean(env["KUBERNETES_SERVICE_HOST"]))
    return {
      credentials: new InClusterCredentials({ clock: systemClock, env }),
      source: "the pod's service account",
      file: null,
    };
  const file = named ?? join(homedir(), ".kube", "config");
  const which = context === undefined ? "" : `, context ${context}`;
  return {
    credentials: new KubeconfigCredentials(file, systemClock, context),
    source: `kubeconfig ${file}${which}`,
    file,
  };
}
