import { boundedBody } from "@isochrone/runtime";
import type { Fetch, FetchAnswer } from "@isochrone/runtime";
import { reasonOf, parseJson } from "@isochrone/primitives";
import { PlanSourceBusyError, ProbeError } from "../ports/errors.ts";
import type { PlanAnswer, PlanSource, ProbeKeyState } from "../ports/ports.ts";

/** Tells the aggregator the held key ids and the signing key, as in `1,2;signing=1`. */
const KEYS_HEADER = "isochrone-probe-keys";
/** Statuses that mean "retry later"; Retry-After is respected. */
const BUSY_STATUSES = new Set([429, 503]);
const MAX_RETRY_AFTER_MS = 600_000;

interface HttpPlanSourceOptions {
  readonly aggregatorUrl: string;
  readonly node: string;
  readonly maxBytes?: number;
  readonly timeoutMs?: number;
  /** For example one that adds a token. @default the platform's fetch */
  readonly fetch?: Fetch | undefined;
}

export function createHttpPlanSource(options: HttpPlanSourceOptions): PlanSource {
  const { aggregatorUrl, node, maxBytes = 1_048_576, timeoutMs = 5000 } = options;
  const ask: Fetch = options.fetch ?? fetch;
  const url = `${aggregatorUrl.replace(/\/+$/, "")}/api/v1/probe-plan/${encodeURIComponent(node)}`;
  return {
    async fetch(etag, self, signal): Promise<PlanAnswer> {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        const response = await ask(url, {
          headers: headersOf(etag, self),
          redirect: "error",
          signal: limit,
        });
        if (response.status === 304) {
          await response.body?.cancel();
          return { kind: "unchanged" };
        }
        if (response.status !== 200) {
          await response.body?.cancel();
          throw refusalOf(url, response);
        }
        const tooLong = (): ProbeError =>
          unreachable(url, `the answer must have at most ${maxBytes} bytes, got more`);
        const text = (await boundedBody(response, maxBytes, tooLong)).toString("utf8");
        return { kind: "plan", body: planJson(text, url), etag: response.headers.get("etag") };
      } catch (error) {
        if (error instanceof ProbeError) throw error;
        throw unreachable(url, reasonOf(error), error);
      }
    },
  };
}

function headersOf(etag: string | null, { heldKeyIds, signingKeyId }: ProbeKeyState): Record<string, string> {
  return {
    accept: "application/json",
    [KEYS_HEADER]: `${heldKeyIds.join(",")};signing=${signingKeyId}`,
    ...(etag === null ? {} : { "if-none-match": etag }),
  };
}

function refusalOf(url: string, { status, headers }: FetchAnswer): ProbeError {
  const retryAfterMs = BUSY_STATUSES.has(status) ? retryAfterOf(headers.get("retry-after")) : null;
  if (retryAfterMs === null) return unreachable(url, `status ${status}`);
  return new PlanSourceBusyError(
    retryAfterMs,
    `cannot read the probe plan from ${url}: status ${status}, again after ${retryAfterMs} ms`,
  );
}

/** Parses seconds, the only form that the aggregator sends. A date would need synchronized clocks. */
function retryAfterOf(header: string | null): number | null {
  if (header === null || !/^\d{1,9}$/.test(header)) return null;
  return Math.min(MAX_RETRY_AFTER_MS, Number(header) * 1000);
}

function planJson(text: string, url: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw unreachable(url, "the answer must be JSON", error);
  }
}

function unreachable(url: string, what: string, cause?: unknown): ProbeError {
  return new ProbeError("probe_plan_unreachable", `cannot read the probe plan from ${url}: ${what}`, {
    retryable: true,
    cause,
  });
}
