// What reads files of users, for fuzzers and benchmarks.
export { DumpError, scoreDump } from "../score/index.ts";
