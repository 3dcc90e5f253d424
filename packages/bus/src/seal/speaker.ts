import { HEADERS, type ProvenSpeaker } from "@isochrone/telemetry";

/** Header that names the speaker. On its own it proves nothing. */
export const SPEAKER_HEADER = HEADERS.speaker;

/** The aggregators themselves: the only speaker of their own topics. */
export const AGGREGATOR: ProvenSpeaker = { kind: "service", name: "aggregator" };
