export interface ScenarioIssue {
  readonly line: number;
  /** Subject, rule and value. */
  readonly message: string;
}

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
