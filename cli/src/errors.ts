import { CommanderError } from "commander";

/** A user error or an unreachable service: printed as one line, exit code 1 (2 for wrong usage). */
export class CommandError extends Error {
  readonly exitCode: 1 | 2;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: 1 | 2 } = {}) {
    super(message, options);
    this.name = "CommandError";
    this.exitCode = options.exitCode ?? 1;
  }
}

/** For invalid option or argument values and conflicting options. */
export function usageError(message: string, options: ErrorOptions = {}): CommandError {
  return new CommandError(message, { ...options, exitCode: 2 });
}

export function exitCodeOf(error: unknown): 0 | 1 | 2 {
  // Help and version also end by a Commander error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  return error instanceof CommandError ? error.exitCode : 1;
}

const NOBODY = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ETIMEDOUT", "timeout"];
const UNAUTHORIZED = 401;
const MAX_CAUSES = 5;

/** Remedy for an error that the caller can fix; null: the message suffices. */
export function nextStepOf(error: unknown): string | null {
  const causes = causesOf(error);
  const has = (key: string, ...values: readonly unknown[]): boolean =>
    causes.some((each) => values.includes(Reflect.get(each, key)));
  // Matches by name: importing the classes would load all their clients.
  if (has("name", "CredentialsError")) return "name the cluster's file by --kubeconfig FILE";
  if (has("name", "StoreError")) return null;
  if (has("name", "LabClientError") && has("status", UNAUTHORIZED))
    return "run the command as the user that started the demo, or start it again";
  if (has("status", UNAUTHORIZED)) return "give a token by --token-file FILE";
  if (!has("code", ...NOBODY)) return null;
  return `is npm start running? ${has("name", "LabClientError") ? "--lab" : "--server"} URL names another address`;
}

function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let each = error; each instanceof Error && causes.length < MAX_CAUSES; each = each.cause) {
    causes.push(each);
    if (each instanceof AggregateError) causes.push(...each.errors.filter((one) => one instanceof Error));
  }
  return causes;
}
