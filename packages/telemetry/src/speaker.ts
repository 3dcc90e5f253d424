/**
 * Publisher authenticated by a token or a MAC. `node`: a probe or collector, which may report only its own
 * node. `service`: a publisher named in an operator's policy.
 */
export type ProvenSpeaker =
  | { readonly kind: "node"; readonly node: string }
  | { readonly kind: "service"; readonly name: string };

const NODE = /^node\/([a-z0-9.-]{1,253})$/;
/** Allows account names. Excludes `|`, the separator between a service and its source name. */
const SERVICE = /^service\/([A-Za-z0-9:._@-]{1,253})$/;

/** Header `isochrone-speaker`: `node/<node>` or `service/<name>`. Proves nothing by itself. */
export function speakerText(speaker: ProvenSpeaker): string {
  return speaker.kind === "node" ? `node/${speaker.node}` : `service/${speaker.name}`;
}

export function parseSpeaker(text: string | undefined): ProvenSpeaker | null {
  const node = NODE.exec(text ?? "")?.[1];
  if (node !== undefined) return { kind: "node", node };
  const name = SERVICE.exec(text ?? "")?.[1];
  return name === undefined ? null : { kind: "service", name };
}
