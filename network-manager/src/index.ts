export { flowsSettings } from "./settings.ts";
