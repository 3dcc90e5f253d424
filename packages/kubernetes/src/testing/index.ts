// For tests of other packages.
export type { InformerOptions } from "../store/informer.ts";
export type { LeadershipListener } from "../leadership.ts";
export { MOVES_ANNOTATION, redeemableMove } from "../store/move-record.ts";
export type { FieldSelector, ListOptions, ObjectList, UntypedStore, WatchEvent } from "../store/port.ts";
export type { ApiServerObserver } from "../adapters/api-server/client.ts";
export type { ApiServerClusterStore, ApiServerStoreOptions } from "../adapters/api-server/create-store.ts";
export { inClusterNamespace } from "../adapters/api-server/in-cluster.ts";
export { binaryEvent, binaryItem, binaryObject } from "./binary-form.ts";
