import { HttpError } from "@isochrone/runtime/http";

/** Codes of the aggregator's errors; `code` of the graph API's problems. */
export const AGGREGATOR_ERROR_CODES = [
  "unknown_node",
  "unknown_workflow",
  "unknown_path",
  "no_graph_yet",
  "probe_not_ready",
  "bad_query",
  "too_many_clients",
  "decisions_off",
  "decisions_unreachable",
  "decisions_bad_answer",
  "bad_dump",
] as const;

/** One of {@link AGGREGATOR_ERROR_CODES}. */
export type AggregatorErrorCode = (typeof AGGREGATOR_ERROR_CODES)[number];

const STATUS: Readonly<Record<AggregatorErrorCode, number>> = {
  unknown_node: 404,
  unknown_workflow: 404,
  unknown_path: 404,
  no_graph_yet: 503,
  probe_not_ready: 503,
  bad_query: 400,
  too_many_clients: 503,
  decisions_off: 503,
  decisions_unreachable: 502,
  decisions_bad_answer: 502,
  bad_dump: 500,
};

/** An answer that isn't the one that was asked for. Its message is shown to clients. */
export class AggregatorError extends HttpError {
  constructor(code: AggregatorErrorCode, message: string, cause?: unknown) {
    super(STATUS[code], code, message, cause === undefined ? {} : { cause });
  }
}
