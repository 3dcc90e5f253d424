export { createLabTestbed } from "./testbed.ts";
export { LINK_KINDS } from "./links.ts";
export type { LinkKind } from "./links.ts";
