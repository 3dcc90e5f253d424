/** What went wrong, as a word that callers may branch on. */
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

/** Base of everything that this package throws. */
export class TopologyError extends Error {
  readonly code: TopologyErrorCode;
  /** True when the same request may succeed later. */
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

/** Thrown when a snapshot breaks the graph API's schema; the message names path, rule and value. */
export class SnapshotError extends TopologyError {
  /** Where in the document, e.g. `links[3].costMs`; empty for the document itself. */
  readonly path: string;

  constructor(document: string, path: string, rule: string, value: unknown) {
    super("invalid_snapshot", `${document}${path === "" ? "" : ` ${path}`} ${rule}, got ${shown(value)}`);
    this.path = path;
  }
}

/** Thrown when the graph API can't be asked or its answer can't be used. */
export class GraphClientError extends TopologyError {
  readonly url: string;
  /** HTTP status of the answer; null when there was none. */
  readonly status: number | null;
  /** How long the server wants to be left alone; null where it didn't say. Milliseconds. */
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
