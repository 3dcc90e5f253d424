export { createDispatcher } from "./dispatcher.ts";
export { dispatcherSettings } from "./settings.ts";
