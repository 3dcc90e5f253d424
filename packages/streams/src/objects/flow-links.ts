import { looseFields, parseBitsPerSecond } from "@isochrone/primitives";
import { DUPLEX_MODES, type FlowLink } from "../flow-network.ts";
import { FieldError, listAt, textAt, type FieldPath } from "./fields.ts";

type LinkFields = "capacity" | "duplex" | "source" | "target";

/** Reads links of a FlowNetwork's `spec`, in order. Throws FieldError at the first invalid one. */
export function readFlowLinks(spec: unknown): FlowLink[] {
  const { links } = looseFields<Record<"links", unknown>>(spec);
  return listAt(["spec", "links"], links).map((link, at) => readFlowLink(link, ["spec", "links", at]));
}

export function readFlowLink(link: unknown, path: FieldPath): FlowLink {
  const {
    source,
    target,
    capacity: quantity,
    duplex = "full",
  } = looseFields<Record<LinkFields, unknown>>(link);
  const capacity = parseBitsPerSecond(quantity);
  if (capacity === null)
    throw new FieldError(
      [...path, "capacity"],
      "must be a quantity of bits per second, such as 10M",
      quantity,
    );
  const mode = DUPLEX_MODES.find((each) => each === duplex);
  if (mode === undefined)
    throw new FieldError([...path, "duplex"], `must be one of ${DUPLEX_MODES.join(", ")}`, duplex);
  return {
    source: textAt([...path, "source"], source),
    target: textAt([...path, "target"], target),
    capacityBitsPerSecond: capacity,
    duplex: mode,
  };
}
