export { createLabGround } from "./ground.ts";
export { LINK_KINDS } from "./links.ts";
export type { LinkKind } from "./links.ts";
