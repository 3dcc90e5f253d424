/** Who a record comes from, as somebody has proven. `open`: nothing is proven, because nobody asks (loopback, access.mode none). */
export type Speaker =
  | { readonly kind: "open" }
  | { readonly kind: "node"; readonly node: string }
  | { readonly kind: "service"; readonly name: string };

/** A speaker that has proven who it is. */
export type ProvenSpeaker = Exclude<Speaker, { readonly kind: "open" }>;

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
