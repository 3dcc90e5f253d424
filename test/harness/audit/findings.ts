/** A statement that is not true, or that nobody could check. */
export interface Finding {
  /** When it was made. */
  readonly atMs: number;
  readonly channel: "terminal" | "api" | "page" | "metrics";
  readonly rule: string;
  readonly statement: string;
  /** What is true instead, and how that is known. */
  readonly evidence: string;
}

/** What a rule says of a statement: null where it is true, else what is true instead. */
export type Verdict = string | null;

export function findingLine({ atMs, channel, rule, statement, evidence }: Finding): string {
  return `${new Date(atMs).toISOString().slice(11, 19)} ${channel} ${rule}: "${statement}": ${evidence}`;
}
