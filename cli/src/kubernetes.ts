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

/** Opens the cluster as kubectl does: file, KUBECONFIG, service account, ~/.kube/config; current context. */
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

export function clusterCredentials(
  kubeconfig: string | undefined,
  context?: string,
): { readonly credentials: Credentials; readonly source: string; readonly file: string | null } {
  const { env } = process;
  const listed = (env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  const named = kubeconfig === undefined ? [...new Set(listed)] : [kubeconfig];
  if (named.length === 0 && context === undefined && Boolean(env["KUBERNETES_SERVICE_HOST"]))
    return {
      credentials: new InClusterCredentials({ clock: systemClock, env }),
      source: "the pod's service account",
      file: null,
    };
  const files = named.length > 0 ? named : [join(homedir(), ".kube", "config")];
  const which = context === undefined ? "" : `, context ${context}`;
  return {
    credentials: new KubeconfigCredentials(files, systemClock, { context, env }),
    source: `kubeconfig ${files.join(delimiter)}${which}`,
    file: files[0] ?? null,
  };
}
