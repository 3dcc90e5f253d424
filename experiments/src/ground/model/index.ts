export { createModelGround, REPLACE_MS } from "./ground.ts";
