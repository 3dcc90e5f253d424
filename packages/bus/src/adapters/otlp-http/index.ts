export { otlpHttpIngest } from "./ingest.ts";
export type { SpokenFor } from "./ingest.ts";
