// Parsers of user files, for fuzzers and benchmarks.
export { DumpError, scoreDump } from "../score/index.ts";
