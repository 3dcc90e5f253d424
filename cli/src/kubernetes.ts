// A real cluster, for the commands that ask one.
import type { ClusterStore } from "@isochrone/kubernetes";
import { createApiServerStore } from "@isochrone/kubernetes/api-server";
import { createLogger, systemClock, systemRandom } from "@isochrone/runtime";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";

export interface OpenedStore {
  readonly store: ClusterStore;
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 10_000;

/** As kubectl finds its cluster: the file, else the first of $KUBECONFIG, else the service account of the pod, else ~/.kube/config; its current context. */
export function openStore(kubeconfig: string | undefined): OpenedStore {
  const { env } = process;
  const [first] = (env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  const file = kubeconfig ?? first;
  const isInPod = file === undefined && Boolean(env["KUBERNETES_SERVICE_HOST"]);
  const store = createApiServerStore({
    credentials: isInPod ? { inCluster: env } : { kubeconfig: file ?? join(homedir(), ".kube", "config") },
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
