// Loads the client library only for a kubeconfig.
export { createApiServerStore } from "./adapters/api-server/create-store.ts";
export type { Credentials } from "./adapters/api-server/credentials.ts";
export { InClusterCredentials } from "./adapters/api-server/in-cluster.ts";
export { KubeconfigCredentials } from "./adapters/api-server/kubeconfig.ts";
export { DEFAULT_NAMESPACE, openStore } from "./open-store.ts";
export { kubernetesSettings } from "./settings.ts";
export type { KubernetesSettings } from "./settings.ts";
