export interface Finding {
  readonly atMs: number;
  readonly channel: "terminal" | "api" | "page" | "metrics";
  readonly rule: string;
  readonly statement: string;
  readonly evidence: string;
}

/** Result of a rule: null for a true statement, otherwise the truth. */
export type Verdict = string | null;

export function findingLine({ atMs, channel, rule, statement, evidence }: Finding): string {
  return `${new Date(atMs).toISOString().slice(11, 19)} ${channel} ${rule}: "${statement}": ${evidence}`;
}
