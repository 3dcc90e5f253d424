/** One mistake in a scenario's file. */
export interface ScenarioIssue {
  /** From 1. */
  readonly line: number;
  /** Subject, rule and value. */
  readonly message: string;
}

/** Thrown before anything starts when a scenario can't be run as it is written; lists all that was found. */
export class ScenarioError extends Error {
  readonly file: string;
  readonly issues: readonly ScenarioIssue[];

  constructor(file: string, issues: readonly ScenarioIssue[], options?: ErrorOptions) {
    super(issues.map(({ line, message }) => `${file}:${line}: ${message}`).join("\n"), options);
    this.name = "ScenarioError";
    this.file = file;
    this.issues = issues;
  }
}
