import { HEADERS } from "@isochrone/telemetry";

/**
 * Who a record comes from, as somebody has proven. `node`: a probe or collector, which speaks for its own node only. `service`: a publisher
 * that an operator's policy names. `open`: nothing is proven, because nobody asks (loopback, access.mode none).
 */
export type Speaker =
  | { readonly kind: "open" }
  | { readonly kind: "node"; readonly node: string }
  | { readonly kind: "service"; readonly name: string };

/** A speaker that has proven who it is. */
export type ProvenSpeaker = Exclude<Speaker, { readonly kind: "open" }>;

/** What of a record says who it comes from. */
export interface SpokenRecord {
  readonly headers: Readonly<Record<string, string>>;
}

/** Tells who a record comes from. "refused": it claims what it does not prove. */
export interface Speakers {
  speakerOf(record: SpokenRecord): Speaker | "refused";
}

const NODE = /^node\/([a-z0-9.-]{1,253})$/;
/** No `|`, which separates a service's name from what it calls its sources. */
const SERVICE = /^service\/([A-Za-z0-9:._@-]{1,253})$/;

/** The value of the header {@link HEADERS.speaker}. */
export function speakerText(speaker: ProvenSpeaker): string {
  return speaker.kind === "node" ? `node/${speaker.node}` : `service/${speaker.name}`;
}

/** Null: the text names no speaker. */
export function parseSpeaker(text: string | undefined): ProvenSpeaker | null {
  const node = NODE.exec(text ?? "")?.[1];
  if (node !== undefined) return { kind: "node", node };
  const name = SERVICE.exec(text ?? "")?.[1];
  return name === undefined ? null : { kind: "service", name };
}

const OPEN: Speaker = { kind: "open" };

/** Nobody proves anything, and everybody is believed. */
export const OPEN_SPEAKERS: Speakers = { speakerOf: () => OPEN };

/** On a bus that only our own ingest and our own parts can write to: they set the header after they have asked for proof. */
export const HEADER_SPEAKERS: Speakers = {
  speakerOf: ({ headers }) => parseSpeaker(headers[HEADERS.speaker]) ?? "refused",
};

/** What a BufferedPublisher adds for the second stream of records and further ones. */
const STREAM = /#[1-9]\d{0,3}$/;

/** Whether a speaker may call its source so: a node's are `<part>/<node>`, or the node itself; a service's are its own affair. */
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
