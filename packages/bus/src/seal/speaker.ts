/** Who a record comes from, proven by a token or a MAC: a probe or collector speaks for its own node, a service for what an operator names. */
export type Speaker =
  | { readonly kind: "node"; readonly node: string }
  | { readonly kind: "service"; readonly name: string };

/** Header that names the speaker. On its own it proves nothing. */
export const SPEAKER_HEADER = "isochrone-speaker";

/** The aggregators themselves: the only speaker of their own topics. */
export const AGGREGATOR: Speaker = { kind: "service", name: "aggregator" };

/** Node names are DNS subdomains; services follow the same rule. */
const TEXT = /^(node|service)\/([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)$/;

/** `node/<node>` or `service/<name>`. */
export function speakerText(speaker: Speaker): string {
  return speaker.kind === "node" ? `node/${speaker.node}` : `service/${speaker.name}`;
}

/** Null for a text that {@link speakerText} never gives. */
export function parseSpeaker(text: string): Speaker | null {
  const match = TEXT.exec(text);
  const name = match?.[2];
  if (name === undefined) return null;
  return match?.[1] === "node" ? { kind: "node", node: name } : { kind: "service", name };
}
