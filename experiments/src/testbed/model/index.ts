export { createModelTestbed, REPLACE_MS } from "./testbed.ts";
