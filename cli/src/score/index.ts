export { DumpError } from "./errors.ts";
export { readDecision } from "./recorded-decision.ts";
export type { RecordedDecision } from "./recorded-decision.ts";
export { scoreDump } from "./score-dump.ts";
export type { DumpScores, ScoreDumpOptions } from "./score-dump.ts";
