export { exportRequest } from "./otlp-schema.ts";
