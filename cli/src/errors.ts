import { CommanderError } from "commander";

/** A mistake of the caller or a service that can't be reached: printed as one line, exit code 1 (2 for wrong usage). */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: 1 | 2 } = {}) {
    super(message, options);
    this.name = "CommandError";
    this.exitCode = options.exitCode ?? 1;
  }
}

/** For an option or argument whose value can't be meant, and for options that don't go together. */
export function usageError(message: string, options: ErrorOptions = {}): CommandError {
  return new CommandError(message, { ...options, exitCode: 2 });
}

/** The exit code that docs/cli.md promises for what a command ended with. */
export function exitCodeOf(error: unknown): 0 | 1 | 2 {
  // Help and version end by an error of Commander's, too.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof CommandError ? error.exitCode : 1;
}
