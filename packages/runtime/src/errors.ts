/** Base of all errors: a stable code, whether a retry may help, and the cause. */
export class CodedError extends Error {
  readonly code: string;
  /** True if the same call may succeed later without a change by the caller. */
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

export const RUNTIME_ERROR_CODES = [
  "settings_invalid",
  "deadline_exceeded",
  "service_failed",
  "listen_failed",
  "lifecycle_order",
  "credentials_unusable",
] as const;

export class SettingsError extends CodedError {
  readonly mistakes: readonly string[];

  constructor(mistakes: readonly string[], cause?: unknown) {
    const title =
      mistakes.length === 1 ? "1 mistake in the settings" : `${mistakes.length} mistakes in the settings`;
    super("settings_invalid", [`${title}:`, ...mistakes.map((line) => `  ${line}`)].join("\n"), { cause });
    this.mistakes = Object.freeze([...mistakes]);
  }
}

export class DeadlineError extends CodedError {
  constructor(subject: string, deadlineMs: number) {
    super("deadline_exceeded", `${subject} must end within ${deadlineMs} ms and did not`, {
      retryable: true,
    });
  }
}

/** Services that failed to start or stop; `cause` is the first failure, `failures` all. */
export class ServiceError extends CodedError {
  readonly failures: readonly unknown[];

  constructor(message: string, failures: readonly unknown[]) {
    super("service_failed", message, { cause: failures[0] });
    this.failures = failures;
  }
}

export class ListenError extends CodedError {
  constructor(message: string, cause: unknown) {
    super("listen_failed", message, { cause });
  }
}

export class LifecycleError extends CodedError {
  constructor(from: string, to: string) {
    super("lifecycle_order", `a lifecycle that is ${from} can't become ${to}`);
  }
}

/** Thrown for an unusable credentials file; retryable, because such files change at run time. */
export class CredentialsError extends CodedError {
  constructor(message: string, cause?: unknown) {
    super("credentials_unusable", message, { retryable: true, cause });
  }
}
