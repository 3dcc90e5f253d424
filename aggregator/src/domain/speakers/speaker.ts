import { HEADERS, parseSpeaker, speakerText, type ProvenSpeaker } from "@isochrone/telemetry";

export { speakerText, type ProvenSpeaker };

/**
 * Proven sender of a record. `node`: a probe or collector, restricted to its node. `service`: a publisher
 * with a configured rule. `open`: no proof is required (loopback, access.mode none).
 */
export type Speaker = { readonly kind: "open" } | ProvenSpeaker;

export interface SpokenRecord {
  readonly key: string;
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** Identifies the sender of a record. "refused": the claim is not proven. */
export interface Speakers {
  speakerOf(record: SpokenRecord): Speaker | "refused";
}

const OPEN: Speaker = { kind: "open" };

export const OPEN_SPEAKERS: Speakers = { speakerOf: () => OPEN };

/** For a bus with no other writers: our ingest sets the header after authentication. */
export const HEADER_SPEAKERS: Speakers = {
  speakerOf: ({ headers }) => parseSpeaker(headers[HEADERS.speaker]) ?? "refused",
};

/** Suffix that a BufferedPublisher adds to its second and later streams. */
const STREAM = /#[1-9]\d{0,3}$/;

/** A node may use `<part>/<node>` or its own name; a service any name. */
export function maySendAs(speaker: Speaker, source: string): boolean {
  if (speaker.kind !== "node") return true;
  const publisher = source.replace(STREAM, "");
  const slash = publisher.indexOf("/");
  return publisher === speaker.node || (slash > 0 && publisher.slice(slash + 1) === speaker.node);
}

/** Name of a source that is unique over all senders. */
export function scopedSource(speaker: Speaker, source: string): string {
  return speaker.kind === "service" ? `${speakerText(speaker)}|${source}` : source;
}
