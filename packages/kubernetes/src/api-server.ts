// `@isochrone/kubernetes/api-server`: the store of a real API server. The client library is loaded only when a kubeconfig is read.
export type { ApiServerObserver } from "./adapters/api-server/client.ts";
export { createApiServerStore } from "./adapters/api-server/create-store.ts";
export type { ApiServerClusterStore, ApiServerStoreOptions } from "./adapters/api-server/create-store.ts";
export type { ConnectionTls, Credentials, Login } from "./adapters/api-server/credentials.ts";
export { InClusterCredentials, inClusterNamespace, isInCluster } from "./adapters/api-server/in-cluster.ts";
export { KubeconfigCredentials } from "./adapters/api-server/kubeconfig.ts";
export { openStore } from "./open-store.ts";
export type { OpenedStore, StoreSurroundings } from "./open-store.ts";
export { kubernetesSettings } from "./settings.ts";
export type { KubernetesSettings } from "./settings.ts";
export { StoreCounts } from "./adapters/api-server/store-counts.ts";
export type { LabelledCount } from "./adapters/api-server/store-counts.ts";
