import { HEADERS, parseSpeaker, speakerText, type ProvenSpeaker } from "@isochrone/telemetry";

export { speakerText, type ProvenSpeaker };

/**
 * Who a record comes from, as somebody has proven. `node`: a probe or collector, which speaks for its own
 * node only. `service`: a publisher that an operator's policy names. `open`: nothing is proven, because
 * nobody asks (loopback, access.mode none).
 */
export type Speaker = { readonly kind: "open" } | ProvenSpeaker;

/** What of a record says who it comes from. */
export interface SpokenRecord {
  readonly key: string;
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** Tells who a record comes from. "refused": it claims what it does not prove. */
export interface Speakers {
  speakerOf(record: SpokenRecord): Speaker | "refused";
}

const OPEN: Speaker = { kind: "open" };

/** Nobody proves anything, and everybody is believed. */
export const OPEN_SPEAKERS: Speakers = { speakerOf: () => OPEN };

/**
 * On a bus that only our own ingest and our own parts can write to: they set the header after they have asked
 * for proof.
 */
export const HEADER_SPEAKERS: Speakers = {
  speakerOf: ({ headers }) => parseSpeaker(headers[HEADERS.speaker]) ?? "refused",
};

/** What a BufferedPublisher adds for the second stream of records and further ones. */
const STREAM = /#[1-9]\d{0,3}$/;

/**
 * Whether a speaker may call its source so: a node's are `<part>/<node>`, or the node itself; a service's are
 * its own affair.
 */
export function maySendAs(speaker: Speaker, source: string): boolean {
  if (speaker.kind !== "node") return true;
  const publisher = source.replace(STREAM, "");
  const slash = publisher.indexOf("/");
  return publisher === speaker.node || (slash > 0 && publisher.slice(slash + 1) === speaker.node);
}

/** What a source is called among those of all speakers: nobody else's can be called the same. */
export function scopedSource(speaker: Speaker, source: string): string {
  return speaker.kind === "service" ? `${speakerText(speaker)}|${source}` : source;
}
