const TOPOLOGY_ERROR_CODES = [
  "invalid_snapshot",
  "unreachable",
  "timeout",
  "http_status",
  "too_large",
  "malformed",
  "unsettled",
] as const;
type TopologyErrorCode = (typeof TOPOLOGY_ERROR_CODES)[number];

export class TopologyError extends Error {
  readonly code: TopologyErrorCode;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;

  constructor(
    code: TopologyErrorCode,
    message: string,
    options: { retryable?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

export class SnapshotError extends TopologyError {
  /** Path of the fault, for example `links[3].costMs`; empty: the document itself. */
  readonly path: string;

  constructor(document: string, path: string, rule: string, value: unknown) {
    super("invalid_snapshot", `${document}${path === "" ? "" : ` ${path}`} ${rule}, got ${shown(value)}`);
    this.path = path;
  }
}

export class GraphClientError extends TopologyError {
  readonly url: string;
  /** HTTP status. Null: no answer. */
  readonly status: number | null;
  /** Delay that the server requested, milliseconds. Null: none. */
  readonly retryAfterMs: number | null;

  constructor(
    code: TopologyErrorCode,
    url: string,
    message: string,
    options: { status?: number; retryable?: boolean; retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(code, `GET ${url}: ${message}`, options);
    this.url = url;
    this.status = options.status ?? null;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

const SHOWN_CHARACTERS = 80;

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "number") return String(value);
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
