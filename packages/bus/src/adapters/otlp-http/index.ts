export { INGEST_REFUSALS, otlpHttpIngest } from "./ingest.ts";
export type { IngestHost, IngestRefusal, OtlpHttpIngestOptions, SpokenFor } from "./ingest.ts";
export { OtlpHttpPublisher } from "./publisher.ts";
export type { OtlpHttpPublisherOptions } from "./publisher.ts";
export { KEY_HEADER, TOPIC_HEADER } from "./routing.ts";
export type { PartialSuccess } from "./wire.ts";
