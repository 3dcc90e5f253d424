/** Who a record comes from, proven by a token or a MAC: a probe or collector speaks for its own node, a service for what an operator names. */
export type Speaker =
  | { readonly kind: "node"; readonly node: string }
  | { readonly kind: "service"; readonly name: string };

/** Header that names the speaker. On its own it proves nothing. */
export const SPEAKER_HEADER = "isochrone-speaker";

/** The aggregators themselves: the only speaker of their own topics. */
export const AGGREGATOR: Speaker = { kind: "service", name: "aggregator" };

const NODE = /^node\/([a-z0-9.-]{1,253})$/;
/** Services may be called as their accounts are. */
const SERVICE = /^service\/([A-Za-z0-9:._@-]{1,253})$/;

/** `node/<node>` or `service/<name>`. */
export function speakerText(speaker: Speaker): string {
  return speaker.kind === "node" ? `node/${speaker.node}` : `service/${speaker.name}`;
}

/** Null for a text that {@link speakerText} never gives. */
export function parseSpeaker(text: string): Speaker | null {
  const node = NODE.exec(text)?.[1];
  if (node !== undefined) return { kind: "node", node };
  const name = SERVICE.exec(text)?.[1];
  return name === undefined ? null : { kind: "service", name };
}
