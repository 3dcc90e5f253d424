/** A mistake of the caller or a service that can't be reached: printed as one line, exit code 1 (2 for wrong usage). */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: 1 | 2 } = {}) {
    super(message, options);
    this.name = "CommandError";
    this.exitCode = options.exitCode ?? 1;
  }
}
