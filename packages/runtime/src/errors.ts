/**
 * What every error of the project carries: a stable code, whether trying again may help, and what caused it.
 */
export class CodedError extends Error {
  readonly code: string;
  /** True when the same call may succeed later without a change by the caller. */
  readonly retryable: boolean;

  constructor(
    code: string,
    message: string,
    options: { readonly retryable?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

/** Codes of the errors that this package throws. */
export const RUNTIME_ERROR_CODES = [
  "settings_invalid",
  "deadline_exceeded",
  "service_failed",
  "listen_failed",
  "lifecycle_order",
  "credentials_unusable",
] as const;

/** Every mistake in the settings at once, a line each. */
export class SettingsError extends CodedError {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[], cause?: unknown) {
    const title =
      mistakes.length === 1 ? "1 mistake in the settings" : `${mistakes.length} mistakes in the settings`;
    super("settings_invalid", [`${title}:`, ...mistakes.map((line) => `  ${line}`)].join("\n"), { cause });
    this.mistakes = Object.freeze([...mistakes]);
  }
}

/** Work that was given a deadline did not end within it. */
export class DeadlineError extends CodedError {
  constructor(subject: string, deadlineMs: number) {
    super("deadline_exceeded", `${subject} must end within ${deadlineMs} ms and did not`, {
      retryable: true,
    });
  }
}

/** One or more services failed to start or to stop; `cause` is the first failure, `failures` are all. */
export class ServiceError extends CodedError {
  readonly failures: readonly unknown[];

  constructor(message: string, failures: readonly unknown[]) {
    super("service_failed", message, { cause: failures[0] });
    this.failures = failures;
  }
}

/** A server can't listen at its address. */
export class ListenError extends CodedError {
  constructor(message: string, cause: unknown) {
    super("listen_failed", message, { cause });
  }
}

/** A state was asked for that can't follow the current one. */
export class LifecycleError extends CodedError {
  constructor(from: string, to: string) {
    super("lifecycle_order", `a lifecycle that is ${from} can't become ${to}`);
  }
}

/** A file of credentials can't be used; worth another try, since such files come and change beside us. */
export class CredentialsError extends CodedError {
  constructor(message: string, cause?: unknown) {
    super("credentials_unusable", message, { retryable: true, cause });
  }
}
