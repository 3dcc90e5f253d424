import { CodedError } from "@isochrone/runtime";
import { HttpError } from "@isochrone/runtime/http";

/** Error codes; also `code` of the graph API's problem documents. */
const AGGREGATOR_ERROR_CODES = [
  "unknown_node",
  "unknown_workflow",
  "unknown_path",
  "no_graph_yet",
  "not_kept",
  "probe_not_ready",
  "bad_query",
  "too_many_clients",
  "decisions_off",
  "decisions_unreachable",
  "decisions_bad_answer",
  "flow_plan_stale",
  "streams_off",
  "bad_dump",
  "bad_probe_keys",
  "keys_not_read",
  "not_yours",
  "record_keys_off",
  "not_your_key",
] as const;

type AggregatorErrorCode = (typeof AGGREGATOR_ERROR_CODES)[number];

const STATUS: Readonly<Record<AggregatorErrorCode, number>> = {
  unknown_node: 404,
  unknown_workflow: 404,
  unknown_path: 404,
  no_graph_yet: 503,
  not_kept: 404,
  probe_not_ready: 503,
  bad_query: 400,
  too_many_clients: 503,
  decisions_off: 503,
  decisions_unreachable: 502,
  decisions_bad_answer: 502,
  flow_plan_stale: 503,
  streams_off: 503,
  bad_dump: 500,
  bad_probe_keys: 400,
  keys_not_read: 503,
  not_yours: 403,
  record_keys_off: 404,
  not_your_key: 403,
};

/** An error response. Its message is shown to clients. */
export class AggregatorError extends HttpError {
  constructor(code: AggregatorErrorCode, message: string, cause?: unknown) {
    super(STATUS[code], code, message, cause === undefined ? {} : { cause });
  }
}

const KEY_STORE_ERROR_CODES = ["key_store_conflict", "key_store_invalid"] as const;

type KeyStoreErrorCode = (typeof KEY_STORE_ERROR_CODES)[number];

/** Keys were changed concurrently or are stored in an unreadable form. The message contains no secret. */
export class KeyStoreError extends CodedError {
  declare readonly code: KeyStoreErrorCode;

  constructor(code: KeyStoreErrorCode, message: string, cause?: unknown) {
    super(code, message, {
      retryable: code === "key_store_conflict",
      ...(cause === undefined ? {} : { cause }),
    });
  }
}

const COORDINATE_ERROR_CODES = [
  "coordinate_fit_failed",
  "coordinate_fit_timeout",
  "coordinate_thread_died",
] as const;

export type CoordinateErrorCode = (typeof COORDINATE_ERROR_CODES)[number];

export class CoordinateError extends CodedError {
  declare readonly code: CoordinateErrorCode;

  constructor(code: CoordinateErrorCode, message: string, cause?: unknown) {
    super(code, message, { retryable: true, ...(cause === undefined ? {} : { cause }) });
  }
}
