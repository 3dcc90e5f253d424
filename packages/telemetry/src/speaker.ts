/**
 * Who a record comes from, proven by a token or a MAC. `node`: a probe or collector, which speaks for its own
 * node only. `service`: a publisher that an operator's policy names.
 */
export type ProvenSpeaker =
  | { readonly kind: "node"; readonly node: string }
  | { readonly kind: "service"; readonly name: string };

const NODE = /^node\/([a-z0-9.-]{1,253})$/;
/**
 * Services may be called as their accounts are. No `|`, which separates a service's name from what it calls
 * its sources.
 */
const SERVICE = /^service\/([A-Za-z0-9:._@-]{1,253})$/;

/**
 * The value of the header `isochrone-speaker`: `node/<node>` or `service/<name>`. On its own it proves
 * nothing.
 */
export function speakerText(speaker: ProvenSpeaker): string {
  return speaker.kind === "node" ? `node/${speaker.node}` : `service/${speaker.name}`;
}

/** Null for a text that {@link speakerText} never gives. */
export function parseSpeaker(text: string | undefined): ProvenSpeaker | null {
  const node = NODE.exec(text ?? "")?.[1];
  if (node !== undefined) return { kind: "node", node };
  const name = SERVICE.exec(text ?? "")?.[1];
  return name === undefined ? null : { kind: "service", name };
}
