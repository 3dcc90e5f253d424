export { DumpError, scoreDump } from "../score/index.ts";
