export type { DispatchRecord } from "./decision-log.ts";
export { createDispatcher } from "./dispatcher.ts";
export { dispatcherSettings } from "./settings.ts";
