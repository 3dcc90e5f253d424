import { HEADERS, type ProvenSpeaker } from "@isochrone/telemetry";

export const SPEAKER_HEADER = HEADERS.speaker;

/** Aggregators, the only speaker of their own topics. */
export const AGGREGATOR: ProvenSpeaker = { kind: "service", name: "aggregator" };
